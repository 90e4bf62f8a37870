/** What an operator says of an order: negative, zero or positive as by a comparison function. */
export function holds(order: number, operator: '<' | '<=' | '>' | '>='): boolean {
  switch (operator) {
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
  }
}
