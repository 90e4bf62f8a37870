import { z } from 'zod';
import type { Lane } from '../engine/graph-planner.ts';
import { paths } from '../model/paths.ts';
import { createJoin } from './steps.ts';
import type { Inherited, JoinCause } from './steps.ts';
import { asRead } from './store.ts';
import type { Reader, Write } from './store.ts';

/** Members of one node. Lanes count into leaves, full nodes into their parent: no document takes more than this many writers. */
const ARITY = 16;

const joinNodeSchema = z.strictObject({
  v: z.literal(1),
  /** Which members have ended: a set, so that counting twice changes nothing. */
  members: z.array(z.number().int()),
  seqSum: z.number().int(),
  activeMs: z.number(),
});
type JoinNode = z.infer<typeof joinNodeSchema>;

/**
 * Counts an ended lane. Reads and writes the lane's node, and its parents as far as nodes become full; the lane that
 * fills the root creates the join step. Each write is fenced by what was read, so that it needs no transaction: lanes that end
 * together would wait for each other's locks.
 */
export async function countLane(reader: Reader, lane: Lane, inherited: Inherited): Promise<readonly Write[]> {
  const { accountId, runId } = inherited.from;
  const writes: Write[] = [];
  let member = lane.lane;
  let width = lane.lanes;
  let seqSum = inherited.seq;
  let activeMs = inherited.activeMs;
  for (let level = 0; ; level += 1) {
    const node = Math.floor(member / ARITY);
    const path = paths.join(accountId, runId, `${lane.ownerKey}:${level}:${node}`);
    const { docs } = await reader.get([path]);
    const before: JoinNode = docs[0] === undefined ? { v: 1, members: [], seqSum: 0, activeMs: 0 } : joinNodeSchema.parse(docs[0].data);
    if (before.members.includes(member % ARITY)) return writes;
    const after: JoinNode = {
      v: 1,
      members: [...before.members, member % ARITY],
      seqSum: before.seqSum + seqSum,
      activeMs: Math.max(before.activeMs, activeMs),
    };
    writes.push(asRead(docs[0], path, after));
    const size = Math.min(ARITY, width - node * ARITY);
    if (after.members.length < size) return writes;
    if (width <= ARITY) {
      const joinPath = paths.step(accountId, runId, `${lane.ownerKey}.$join`);
      const existing = await reader.get([joinPath]);
      if (existing.docs[0] !== undefined) return writes;
      writes.push(
        createJoin(lane, { ...inherited, activeMs: after.activeMs }, { reason: 'complete', seqSum: after.seqSum, lanes: lane.lanes }),
      );
      return writes;
    }
    member = node;
    width = Math.ceil(width / ARITY);
    ({ seqSum, activeMs } = after);
  }
}

/** The nodes in which some lanes have been counted already, where not all have: a fork goes on counting in them. */
export function countedNodes(
  ownerKey: string,
  lanes: number,
  ended: readonly { readonly lane: number; readonly seq: number }[],
): readonly { readonly id: string; readonly node: JoinNode }[] {
  const nodes: { id: string; node: JoinNode }[] = [];
  let members = ended.map(({ lane, seq }) => ({ member: lane, seqSum: seq }));
  for (let level = 0, width = lanes; members.length > 0; level += 1, width = Math.ceil(width / ARITY)) {
    const full: { member: number; seqSum: number }[] = [];
    for (const number of new Set(members.map(({ member }) => Math.floor(member / ARITY)))) {
      const inside = members.filter(({ member }) => Math.floor(member / ARITY) === number);
      const seqSum = inside.reduce((sum, member) => sum + member.seqSum, 0);
      const node: JoinNode = { v: 1, members: inside.map(({ member }) => member % ARITY), seqSum, activeMs: 0 };
      nodes.push({ id: `${ownerKey}:${level}:${number}`, node });
      if (inside.length === Math.min(ARITY, width - number * ARITY)) full.push({ member: number, seqSum });
    }
    if (width <= ARITY) return nodes;
    members = full;
  }
  return nodes;
}

/** Fires the join before all lanes ended, unless it has fired already. */
export async function joinEarly(
  reader: Reader,
  lane: Lane,
  cause: Pick<JoinCause, 'reason' | 'mark'>,
  inherited: Inherited,
): Promise<readonly Write[]> {
  const { docs } = await reader.get([paths.step(inherited.from.accountId, inherited.from.runId, `${lane.ownerKey}.$join`)]);
  return docs[0] === undefined ? [createJoin(lane, inherited, { ...cause, seqSum: inherited.seq, lanes: 1 })] : [];
}
