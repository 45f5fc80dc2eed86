export const tax = 0.19;

export default tax;
