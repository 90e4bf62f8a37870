/** Where times lie on a line on which long idle gaps are pressed together. Pure. */

export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Gap extends Span {
  /** Share of the line, 0 to 1. */
  readonly left: number;
  readonly width: number;
}

export interface TimeScale {
  readonly from: number;
  readonly to: number;
  readonly gaps: readonly Gap[];
  /** Share of the line at which a time lies. */
  at(time: number): number;
}

const GAP_WIDTH = 0.04;
const GAPS_AT_MOST = 6;
/** A gap is pressed together when it is longer than this share of all the activity. */
const GAP_SHARE = 0.3;
const MIN_GAP_MS = 1_000;

/** `activity`: when something happened; what lies between is idle. */
export function timeScale(activity: readonly Span[], whole: Span): TimeScale {
  const from = whole.from;
  const to = Math.max(whole.to, from + 1);
  const busy = merge(activity.map((span) => ({ from: Math.max(from, span.from), to: Math.min(to, Math.max(span.to, span.from)) })));
  const idle = between(busy, { from, to });
  const active = to - from - idle.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  const long = idle
    .filter((gap) => gap.to - gap.from >= Math.max(MIN_GAP_MS, active * GAP_SHARE))
    .sort((a, b) => b.to - b.from - (a.to - a.from))
    .slice(0, GAPS_AT_MOST)
    .sort((a, b) => a.from - b.from);
  return pressed({ from, to }, long);
}

function pressed({ from, to }: Span, long: readonly Span[]): TimeScale {
  const left = to - from - long.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  const share = (1 - long.length * GAP_WIDTH) / Math.max(1, left);
  const gaps: Gap[] = [];
  let position = 0;
  let last = from;
  for (const gap of long) {
    position += (gap.from - last) * share;
    gaps.push({ ...gap, left: position, width: GAP_WIDTH });
    position += GAP_WIDTH;
    last = gap.to;
  }
  return {
    from,
    to,
    gaps,
    at(time) {
      const clipped = Math.min(to, Math.max(from, time));
      let place = 0;
      let since = from;
      for (const gap of gaps) {
        if (clipped <= gap.from) return place + (clipped - since) * share;
        if (clipped < gap.to) return gap.left + (GAP_WIDTH * (clipped - gap.from)) / (gap.to - gap.from);
        place = gap.left + GAP_WIDTH;
        since = gap.to;
      }
      return Math.min(1, place + (clipped - since) * share);
    },
  };
}

function merge(spans: readonly Span[]): readonly Span[] {
  const sorted = [...spans].sort((a, b) => a.from - b.from);
  const merged: { from: number; to: number }[] = [];
  for (const span of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else merged.push({ ...span });
  }
  return merged;
}

function between(busy: readonly Span[], { from, to }: Span): readonly Span[] {
  const gaps: Span[] = [];
  let last = from;
  for (const span of busy) {
    if (span.from > last) gaps.push({ from: last, to: span.from });
    last = Math.max(last, span.to);
  }
  if (to > last) gaps.push({ from: last, to });
  return gaps;
}
