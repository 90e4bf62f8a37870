/** The tree of a run's steps, as far as they are loaded, and the rows of it that are to be seen. Pure. */
import { isLive, type StepRecord } from '@model/step.ts';
import { takeApart, type Part } from './step-key.ts';

export interface Counts {
  readonly steps: number;
  readonly live: number;
  readonly failed: number;
}

export interface StepNode {
  readonly kind: 'step';
  readonly key: string;
  readonly id: string;
  /** Absent while only something inside it is loaded. */
  record: StepRecord | undefined;
  readonly lists: Map<string, ListNode>;
  counts: Counts;
}

/** One iteration, branch or exception path. */
export interface ListNode {
  readonly kind: 'list';
  readonly key: string;
  readonly part: Part;
  readonly steps: StepNode[];
  counts: Counts;
}

export type Node = StepNode | ListNode;

export interface Tree {
  readonly roots: readonly StepNode[];
  readonly byKey: ReadonlyMap<string, Node>;
}

interface Building {
  readonly roots: StepNode[];
  readonly byKey: Map<string, Node>;
}

const NOTHING: Counts = { steps: 0, live: 0, failed: 0 };

/** `steps` in the order of their creation; what gathers results is left out. */
export function buildTree(steps: Iterable<StepRecord>): Tree {
  const building: Building = { roots: [], byKey: new Map() };
  for (const record of steps) {
    if (record.join === undefined) place(building, record);
  }
  for (const root of building.roots) count(root);
  return building;
}

function place(building: Building, record: StepRecord): void {
  const { enclosing, id } = takeApart(record.key, record.kind);
  let siblings: StepNode[] = building.roots;
  for (const { ownerKey, part, key } of enclosing) {
    const owner = stepNode(building, siblings, ownerKey, takeApart(ownerKey, record.kind).id);
    siblings = listNode(building, owner, key, part).steps;
  }
  stepNode(building, siblings, record.key, id).record = record;
}

function stepNode({ byKey }: Building, siblings: StepNode[], key: string, id: string): StepNode {
  const known = byKey.get(key);
  if (known?.kind === 'step') return known;
  const node: StepNode = { kind: 'step', key, id, record: undefined, lists: new Map(), counts: NOTHING };
  byKey.set(key, node);
  siblings.push(node);
  return node;
}

function listNode({ byKey }: Building, owner: StepNode, key: string, part: Part): ListNode {
  const known = owner.lists.get(key);
  if (known !== undefined) return known;
  const node: ListNode = { kind: 'list', key, part, steps: [], counts: NOTHING };
  owner.lists.set(key, node);
  byKey.set(key, node);
  return node;
}

/** Nesting is capped at publication, so recursion is bounded. */
function count(node: StepNode): Counts {
  let { steps, live, failed } = own(node.record);
  for (const list of node.lists.values()) {
    let inside = NOTHING;
    for (const step of list.steps) inside = sum(inside, count(step));
    list.counts = inside;
    ({ steps, live, failed } = sum({ steps, live, failed }, inside));
  }
  node.counts = { steps, live, failed };
  return node.counts;
}

function own(record: StepRecord | undefined): Counts {
  if (record === undefined) return NOTHING;
  return { steps: 1, live: isLive(record.state) ? 1 : 0, failed: record.state === 'failed' || record.state === 'unresolved' ? 1 : 0 };
}

function sum(a: Counts, b: Counts): Counts {
  return { steps: a.steps + b.steps, live: a.live + b.live, failed: a.failed + b.failed };
}

export interface Row {
  readonly node: Node;
  readonly depth: number;
  /** Undefined where there is nothing to open. */
  readonly open: boolean | undefined;
  /** The iteration that this one step is all of: `each[3].book` in a loop of one step. */
  readonly iteration?: number;
}

export interface RowOptions {
  /** What the reader opened (true) or closed (false). */
  readonly chosen: ReadonlyMap<string, boolean>;
  readonly failedOnly: boolean;
}

/** Loops with more iterations than this are closed until somebody opens them, except for what lives or has failed. */
const SMALL = 12;

export function rowsOf(tree: Tree, options: RowOptions): readonly Row[] {
  const rows: Row[] = [];
  for (const root of tree.roots) addStep(rows, root, 0, options, undefined);
  return rows;
}

function addStep(rows: Row[], node: StepNode, depth: number, options: RowOptions, iteration: number | undefined): void {
  if (options.failedOnly && node.counts.failed === 0) return;
  const lists = [...node.lists.values()];
  const open = lists.length === 0 ? undefined : isOpen(node.key, options, lists.length <= SMALL || options.failedOnly);
  rows.push({ node, depth, open, ...(iteration === undefined ? {} : { iteration }) });
  if (open !== true && !options.failedOnly) {
    // A closed loop still shows where it is at work and where it failed.
    const closedByReader = options.chosen.get(node.key) === false;
    if (open === undefined || closedByReader) return;
    for (const list of ordered(lists)
      .filter((each) => each.counts.live > 0 || each.counts.failed > 0)
      .slice(0, SMALL))
      addList(rows, list, depth + 1, options);
    return;
  }
  if (open === true) for (const list of ordered(lists)) addList(rows, list, depth + 1, options);
}

function addList(rows: Row[], list: ListNode, depth: number, options: RowOptions): void {
  if (options.failedOnly && list.counts.failed === 0) return;
  const [only, ...others] = list.steps;
  const { part } = list;
  // The branch that a condition took, and an iteration of one step, need no row of their own.
  if (part.kind === 'then' || part.kind === 'else') {
    for (const step of list.steps) addStep(rows, step, depth, options, undefined);
    return;
  }
  if (part.kind === 'iteration' && only !== undefined && others.length === 0) {
    addStep(rows, only, depth, options, part.index);
    return;
  }
  const open = isOpen(list.key, options, part.kind !== 'iteration' || list.counts.live > 0 || list.counts.failed > 0);
  rows.push({ node: list, depth, open });
  if (open) for (const step of list.steps) addStep(rows, step, depth + 1, options, undefined);
}

function isOpen(key: string, { chosen }: RowOptions, otherwise: boolean): boolean {
  return chosen.get(key) ?? otherwise;
}

function ordered(lists: readonly ListNode[]): readonly ListNode[] {
  if (lists[0]?.part.kind !== 'iteration') return lists;
  return [...lists].sort((a, b) => indexOf(a) - indexOf(b));
}

function indexOf({ part }: ListNode): number {
  return part.kind === 'iteration' ? part.index : 0;
}

/** Every container that must be open for the step to be seen. */
export function ancestorsOf(key: string, kind: 'graph' | 'code'): readonly string[] {
  return takeApart(key, kind).enclosing.flatMap((each) => [each.ownerKey, each.key]);
}
