import ipaddr from 'ipaddr.js';

/** Longer texts are of none of these formats; it also bounds the work. */
const FORMAT_CHARS_MAX = 2_048;

const datePattern = /^(\d{4})-(\d{2})-(\d{2})$/;
const timePattern = /^(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:z|[+-](\d{2}):(\d{2}))$/i;
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const labelPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
const uriPattern = /^[a-z][a-z0-9+.-]*:(?:[\w\-.~!$&'()*+,;=:@/?#[\]]|%[0-9a-f]{2})*$/i;
const localPartPattern = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}$/i;

function isDate(text: string): boolean {
  const [, year, month, day] = datePattern.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) {
    return false;
  }
  const date = new Date(Date.UTC(2000, 0, 1));
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function isTime(text: string): boolean {
  const [, hour = 99, minute = 99, second = 99, zoneHour = 0, zoneMinute = 0] =
    timePattern.exec(text)?.map((part: string | undefined) => (part === undefined ? undefined : Number(part))) ?? [];
  return hour < 24 && minute < 60 && second < 60 && zoneHour < 24 && zoneMinute < 60;
}

function isDateTime(text: string): boolean {
  return /^[tT ]$/.test(text.charAt(10)) && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

function isHostname(text: string): boolean {
  return text.length <= 253 && text.split('.').every((label) => labelPattern.test(label));
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, at);
  const dots = local.startsWith('.') || local.endsWith('.') || local.includes('..');
  return at > 0 && !dots && localPartPattern.test(local) && isHostname(text.slice(at + 1));
}

/** The formats that are checked. Others, as JSON Schema has it, only describe. */
const formats: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['date', isDate],
  ['time', isTime],
  ['date-time', isDateTime],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', (text: string): boolean => ipaddr.IPv4.isValidFourPartDecimal(text)],
  ['ipv6', (text: string): boolean => !text.includes('%') && ipaddr.IPv6.isValid(text)],
  ['uri', (text: string): boolean => uriPattern.test(text)],
  ['uuid', (text: string): boolean => uuidPattern.test(text)],
]);

/** False when the text is not of the format; true also for formats that are not checked. */
export function hasFormat(text: string, format: string): boolean {
  const check = formats.get(format);
  return check === undefined || (text.length <= FORMAT_CHARS_MAX && check(text));
}
