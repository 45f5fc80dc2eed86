export const round = (x) => x;
