import { describe, expect, test } from 'vitest';
import { kilnErrorOf } from '../testing/kiln-error.ts';
import { CEL_LIST_MAX, CEL_TEXT_MAX } from './cel-functions.ts';
import { evaluateExpression } from './conditions.ts';
import type { Json } from './json.ts';

const input: Record<string, Json> = {
  when: '2026-03-05T07:08:09.123Z',
  late: '1969-12-31T23:59:59.500Z',
  nothing: null,
  big: 'x'.repeat(600_000),
};
const yields = (text: string): Json =>
  evaluateExpression(text.replaceAll('WHEN', 'timestamp(workflow_input.when)'), { workflow_input: input });
const reasonOf = (text: string): string => kilnErrorOf(() => yields(text)).message;

describe('texts', () => {
  test.each<[string, Json]>([
    ['"abc".contains("b")', true],
    ['"abc".contains("x")', false],
    ['"abc".startsWith("ab")', true],
    ['"abc".startsWith("bc")', false],
    ['"abc".endsWith("bc")', true],
    ['"abc".endsWith("ab")', false],
    ['"aZÄz".lowerAscii()', 'azÄz'],
    ['"aZäzé".upperAscii()', 'AZäZé'],
    ['" a b\\n".trim()', 'a b'],
    ['"abcabc".indexOf("b")', 1],
    ['"abcabc".indexOf("b", 2)', 4],
    ['"abcabc".indexOf("", 6)', 6],
    ['"abc".indexOf("x")', -1],
    ['"abcabc".lastIndexOf("b")', 4],
    ['"abcabc".lastIndexOf("c")', 5],
    ['"abcabc".lastIndexOf("b", 3)', 1],
    ['"abcdef".substring(2)', 'cdef'],
    ['"abcdef".substring(2, 4)', 'cd'],
    ['"abcdef".substring(6)', ''],
    ['"abcdef".substring(0, 0)', ''],
    ['"a,b,c".split(",")', ['a', 'b', 'c']],
    ['"a,b,c".split(",", 0)', []],
    ['"a,b,c".split(",", 1)', ['a,b,c']],
    ['"a,b,c".split(",", 2)', ['a', 'b,c']],
    ['"a,b,c".split(",", 3)', ['a', 'b', 'c']],
    ['"a,b,c".split(",", 9)', ['a', 'b', 'c']],
    ['"a,b,c".split(",", -1)', ['a', 'b', 'c']],
    ['"abc".split("")', ['a', 'b', 'c']],
    ['"abc".matches("^a.c$")', true],
    ['"abc".matches("x")', false],
    ['["a", "b"].join()', 'ab'],
    ['["a", "b"].join(", ")', 'a, b'],
    ['[].join("-")', ''],
    ['"a🙂".size()', 2],
    ['size("abc")', 3],
    ['[1, 2].size()', 2],
    ['size({"a": 1, "b": 2, "c": 3})', 3],
  ])('%s is %j', (text, expected) => {
    expect(yields(text)).toEqual(expected);
  });

  test.each([
    ['"abc".contains(1)', 'contains needs a string, not int'],
    ['(1).contains("b")', 'contains needs a string, not int'],
    ['(1).startsWith("b")', 'startsWith needs a string, not int'],
    ['(1).endsWith("b")', 'endsWith needs a string, not int'],
    ['(1).indexOf("b")', 'indexOf needs a string, not int'],
    ['(1).lastIndexOf("b")', 'lastIndexOf needs a string, not int'],
    ['(1).substring(0)', 'substring needs a string, not int'],
    ['"abc".startsWith(null)', 'startsWith needs a string, not null_type'],
    ['"abc".endsWith(true)', 'endsWith needs a string, not bool'],
    ['"abc".contains()', 'contains needs a string, not null_type'],
    ['(1).lowerAscii()', 'lowerAscii needs a string, not int'],
    ['[1].upperAscii()', 'upperAscii needs a string, not list'],
    ['{"a": 1}.trim()', 'trim needs a string, not map'],
    ['"abc".indexOf(1)', 'indexOf needs a string, not int'],
    ['"abc".indexOf("b", 1.5)', 'indexOf needs an int, not double'],
    ['"abc".indexOf("b", 4)', 'indexOf: position 4 is outside the text of 3 characters'],
    ['"abc".indexOf("b", -1)', 'indexOf: position -1 is outside the text of 3 characters'],
    ['"abc".lastIndexOf(1)', 'lastIndexOf needs a string, not int'],
    ['"abc".lastIndexOf("b", 9)', 'lastIndexOf: position 9 is outside the text of 3 characters'],
    ['"abc".substring()', 'substring needs an int, not null_type'],
    ['"abc".substring(1, 4)', 'substring: position 4 is outside the text of 3 characters'],
    ['"abc".substring(2, 1)', 'substring: the end is before the start'],
    ['(1).split(",")', 'split needs a string, not int'],
    ['"a".split(1)', 'split needs a string, not int'],
    ['"a".split(",", "1")', 'split needs an int, not string'],
    ['(1).matches("a")', 'matches needs a string, not int'],
    ['"a".matches(1)', 'matches needs a string, not int'],
    ['"a".join()', 'join needs a list, not string'],
    ['["a", 1].join()', 'join needs a string, not int'],
    ['["a"].join(1)', 'join needs a string, not int'],
    ['size(1)', 'size needs a string, list or map, not int'],
    ['size(WHEN)', 'size needs a string, list or map, not timestamp'],
    ['workflow_input.big + workflow_input.big == ""', `a text that an expression builds has at most ${CEL_TEXT_MAX} characters`],
    ['[workflow_input.big].join() == [workflow_input.big, workflow_input.big].join()', `at most ${CEL_TEXT_MAX} characters`],
    ['workflow_input.big.split("").size() == 1', `lists of at most ${CEL_LIST_MAX} items`],
  ])('%s is refused: %s', (text, reason) => {
    expect(reasonOf(text)).toContain(reason);
  });

  test('a text of the longest length can be built', () => {
    const half = 'x'.repeat(CEL_TEXT_MAX / 2);
    expect(evaluateExpression('size(workflow_input + workflow_input)', { workflow_input: half })).toBe(CEL_TEXT_MAX);
    expect(evaluateExpression('size([workflow_input, workflow_input].join())', { workflow_input: half })).toBe(CEL_TEXT_MAX);
  });
});

describe('conversions', () => {
  test.each<[string, Json]>([
    ['int(7)', 7],
    ['int(7.9)', 7],
    ['int(-7.9)', -7],
    ['int("+42")', 42],
    ['int("-42")', -42],
    ['int(WHEN)', 1_772_694_489],
    ['int(timestamp(workflow_input.late))', -1],
    ['double(2)', 2],
    ['type(double(2)) == double', true],
    ['double(2.5)', 2.5],
    ['double("-1.5")', -1.5],
    ['double("+.5")', 0.5],
    ['double("1.")', 1],
    ['double("2e3")', 2_000],
    ['double("2E-1")', 0.2],
    ['double("2e+1")', 20],
    ['double("12.25")', 12.25],
    ['double(".25")', 0.25],
    ['double("1e10")', 1e10],
    ['string("a")', 'a'],
    ['string(42)', '42'],
    ['string(1.5)', '1.5'],
    ['string(true)', 'true'],
    ['string(WHEN)', '2026-03-05T07:08:09.123Z'],
    ['string(duration("1m30s"))', '90s'],
    ['string(duration("1500ms"))', '1.5s'],
    ['bool(true)', true],
    ['bool("true")', true],
    ['bool("false")', false],
    ['timestamp(0)', '1970-01-01T00:00:00.000Z'],
    ['timestamp(-1)', '1969-12-31T23:59:59.000Z'],
    ['timestamp(8640000000000)', '+275760-09-13T00:00:00.000Z'],
    ['timestamp(WHEN)', '2026-03-05T07:08:09.123Z'],
    ['duration("90s")', 90_000],
    ['duration(duration("90s"))', 90_000],
    ['dyn(1)', 1],
    ['dyn([1])', [1]],
    ['type(1)', 'int'],
    ['type(1.5)', 'double'],
    ['type("a")', 'string'],
    ['type(true)', 'bool'],
    ['type(null)', 'null_type'],
    ['type([1])', 'list'],
    ['type({"a": 1})', 'map'],
    ['type(WHEN)', 'timestamp'],
    ['type(duration("1s"))', 'duration'],
    ['type(int)', 'type'],
    ['type(1) == int && type(1.0) == double && type("") == string && type([]) == list', true],
    ['type(true) == bool && type({}) == map && type(null) == null_type && type(int) == type', true],
    ['type(1) == double', false],
  ])('%s is %j', (text, expected) => {
    expect(yields(text)).toEqual(expected);
  });

  test.each([
    ['int("1.5")', 'int(…) cannot convert "1.5"'],
    ['int("x1")', 'int(…) cannot convert "x1"'],
    ['int("1x")', 'int(…) cannot convert "1x"'],
    ['int("9999999999999999999")', 'out of range'],
    ['int(1e30)', 'out of range'],
    ['int(1.0 / 0.0)', 'int(…) cannot convert double'],
    ['int(null)', 'int(…) cannot convert null_type'],
    ['int(true)', 'int(…) cannot convert bool'],
    ['int(duration("1s"))', 'int(…) cannot convert duration'],
    ['double("x")', 'double(…) cannot convert "x"'],
    ['double("1.5x")', 'double(…) cannot convert "1.5x"'],
    ['double("x1.5")', 'double(…) cannot convert "x1.5"'],
    ['double("")', 'double(…) cannot convert ""'],
    ['double(".")', 'double(…) cannot convert "."'],
    ['double("1e")', 'double(…) cannot convert "1e"'],
    ['double(true)', 'double(…) cannot convert bool'],
    [`double("${'x'.repeat(50)}")`, `double(…) cannot convert "${'x'.repeat(40)}"`],
    ['string([1])', 'string(…) cannot convert list'],
    ['string(null)', 'string(…) cannot convert null_type'],
    ['bool("yes")', 'bool(…) cannot convert "yes"'],
    ['bool(1)', 'bool(…) cannot convert int'],
    ['timestamp(8640000000001)', 'timestamp(…) of an int takes seconds since 1970'],
    ['timestamp(-8640000000001)', 'timestamp(…) of an int takes seconds since 1970'],
    ['timestamp("soon")', 'timestamp(…) is "soon"; a date is ISO 8601 text with a zone'],
    ['timestamp(1.5)', 'timestamp(…) is 1.5; a date is ISO 8601 text with a zone'],
    ['duration("soon")', 'duration(…) is "soon"; a duration is'],
    ['duration(5)', 'duration needs a string, not int'],
  ])('%s is refused: %s', (text, reason) => {
    expect(reasonOf(text)).toContain(reason);
  });
});

describe('times', () => {
  test.each<[string, number]>([
    ['WHEN.getFullYear()', 2026],
    ['WHEN.getMonth()', 2],
    ['WHEN.getDate()', 5],
    ['WHEN.getDayOfMonth()', 4],
    ['WHEN.getDayOfWeek()', 4],
    ['WHEN.getDayOfYear()', 63],
    ['timestamp("2026-01-01T00:00:00Z").getDayOfYear()', 0],
    ['WHEN.getHours()', 7],
    ['WHEN.getMinutes()', 8],
    ['WHEN.getSeconds()', 9],
    ['WHEN.getMilliseconds()', 123],
    ['WHEN.getHours("Europe/Berlin")', 8],
    ['WHEN.getDate("Pacific/Kiritimati")', 5],
    ['WHEN.getHours("Pacific/Kiritimati")', 21],
    ['WHEN.getHours("UTC")', 7],
    ['duration("90m").getHours()', 1],
    ['duration("90m").getMinutes()', 90],
    ['duration("90m").getSeconds()', 5_400],
    ['duration("1.5s").getSeconds()', 1],
    ['duration("1.5s").getMilliseconds()', 1_500],
    ['(duration("0s") - duration("90m")).getHours()', -1],
  ])('%s is %i', (text, expected) => {
    expect(yields(text)).toBe(expected);
  });

  test.each([
    ['duration("1h").getFullYear()', 'getFullYear needs a timestamp or duration, not duration'],
    ['"x".getHours()', 'getHours needs a timestamp or duration, not string'],
    ['WHEN.getHours(1)', 'getHours needs a string, not int'],
    ['WHEN.getHours("Mars/Olympus")', '"Mars/Olympus" is not a time zone; write a name such as "Europe/Berlin"'],
    [`WHEN.getHours("${'x'.repeat(50)}")`, `"${'x'.repeat(40)}" is not a time zone`],
  ])('%s is refused: %s', (text, reason) => {
    expect(reasonOf(text)).toContain(reason);
  });
});
