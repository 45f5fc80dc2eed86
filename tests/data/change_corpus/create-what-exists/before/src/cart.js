import { round } from "./money.js";

export function total(items) {
  let sum = 0;
  for (const item of items) {
    sum += item.price;
  }
  return sum;
}

export function count(items) {
  return items.length;
}
