SELECT 1;
-- new remark
++ not SQL
SELECT 2;
