/** A workflow definition as nodes and edges. Pure but for dagre, which places them. */
import dagre from '@dagrejs/dagre';
import type { Definition, StepConfig } from '@model/definition.ts';
import { isCondition, isLoop, isParallel } from '@engine/definition-index.ts';

export interface GraphNode {
  readonly id: string;
  readonly label: string;
  readonly type: string;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  /** From the end of an iteration back to its loop. */
  readonly back: boolean;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

export interface Words {
  readonly yes: string;
  readonly no: string;
  readonly each: string;
}

/** An end that leads to whatever comes next. */
interface Exit {
  readonly from: string;
  readonly label: string;
}

interface Building {
  readonly nodes: GraphNode[];
  readonly edges: GraphEdge[];
  readonly words: Words;
}

/** Nesting is capped at publication, so recursion is bounded. */
export function graphOf(definition: Pick<Definition, 'steps'>, words: Words): Graph {
  const building: Building = { nodes: [], edges: [], words };
  addList(building, definition.steps, []);
  return { nodes: building.nodes, edges: building.edges };
}

function addList(building: Building, list: readonly StepConfig[], entries: readonly Exit[]): readonly Exit[] {
  let exits = entries;
  for (const step of list) {
    building.nodes.push({ id: step.id, label: step.name ?? step.id, type: step.type });
    for (const exit of exits) building.edges.push({ from: exit.from, to: step.id, label: exit.label, back: false });
    exits = [...exitsOf(building, step), ...exceptionExits(building, step)];
  }
  return exits;
}

function exitsOf(building: Building, step: StepConfig): readonly Exit[] {
  const { words } = building;
  // Nothing comes after a failure.
  if (step.type === 'fail') return [];
  const plain: readonly Exit[] = [{ from: step.id, label: '' }];
  if (isCondition(step)) {
    return [
      ...addList(building, step.then, [{ from: step.id, label: words.yes }]),
      ...addList(building, step.else ?? [], [{ from: step.id, label: words.no }]),
    ];
  }
  if (isParallel(step)) {
    return Object.entries(step.branches).flatMap(([name, list]) => addList(building, list, [{ from: step.id, label: name }]));
  }
  if (isLoop(step)) {
    for (const exit of addList(building, step.steps, [{ from: step.id, label: words.each }])) {
      if (exit.from !== step.id) building.edges.push({ from: exit.from, to: step.id, label: exit.label, back: true });
    }
  }
  return plain;
}

function exceptionExits(building: Building, step: StepConfig): readonly Exit[] {
  return Object.entries(step.onException ?? {}).flatMap(([code, list]) => addList(building, list, [{ from: step.id, label: code }]));
}

export interface Placed extends GraphNode {
  readonly x: number;
  readonly y: number;
}

export const NODE_WIDTH = 184;
export const NODE_HEIGHT = 48;

/** Places from top to bottom. */
export function placed(graph: Graph): readonly Placed[] {
  const layout = new dagre.graphlib.Graph();
  layout.setGraph({ rankdir: 'TB', nodesep: 32, ranksep: 48 });
  layout.setDefaultEdgeLabel(() => ({}));
  for (const node of graph.nodes) layout.setNode(node.id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const edge of graph.edges) if (!edge.back) layout.setEdge(edge.from, edge.to);
  dagre.layout(layout);
  return graph.nodes.map((node) => {
    const { x = 0, y = 0 } = layout.node(node.id) as { x?: number; y?: number };
    return { ...node, x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 };
  });
}
