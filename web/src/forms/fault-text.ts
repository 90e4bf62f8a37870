import type { Catalogue } from '../text/en/index.ts';
import type { Fault } from './validate.ts';

/** What is wrong with a value, for the person who has entered it. */
export function faultText({ keyword, bound, message }: Fault, { forms, common }: Catalogue): string {
  const words = forms.faults;
  const said = typeof bound === 'string' || typeof bound === 'number' ? String(bound) : '';
  switch (keyword) {
    case 'required':
      return common.required;
    case 'pattern':
      return words.pattern(said);
    case 'format':
      return words.format(said);
    case 'minLength':
      // A text of no length is a field that was left empty.
      return bound === 1 ? common.required : words.minLength(said);
    case 'maxLength':
      return words.maxLength(said);
    case 'minItems':
      return words.minItems(said);
    case 'maxItems':
      return words.maxItems(said);
    case 'minimum':
      return words.minimum(said);
    case 'maximum':
      return words.maximum(said);
    case 'exclusiveMinimum':
      return words.above(said);
    case 'exclusiveMaximum':
      return words.below(said);
    case 'multipleOf':
      return words.multipleOf(said);
    default:
      return message;
  }
}
