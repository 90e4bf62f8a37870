import '@xyflow/react/dist/base.css';
import { Background, Controls, Handle, MarkerType, Position, ReactFlow, type Edge, type Node, type NodeProps } from '@xyflow/react';
import { useMemo, type ReactNode } from 'react';
import type { Definition } from '@model/definition.ts';
import { useText } from '../text/text.tsx';
import { Icon, type IconName } from '../ui/icons.tsx';
import type { Tone } from '../ui/status.tsx';
import { graphOf, NODE_HEIGHT, NODE_WIDTH, placed } from './layout.ts';
import styles from './graph-view.module.css';

/** How a step stands in a run. */
export interface Mark {
  readonly tone: Tone;
  readonly icon: IconName;
  readonly word: string;
  readonly note: string;
}

interface GraphViewProps {
  readonly definition: Pick<Definition, 'steps'>;
  readonly marks?: ReadonlyMap<string, Mark>;
  readonly onPick?: (stepId: string) => void;
}

type StepNodeType = Node<{ label: string; type: string; mark: Mark | undefined }, 'step'>;

const nodeTypes = { step: StepBox };

export function GraphView({ definition, marks, onPick }: GraphViewProps): ReactNode {
  const { t } = useText();
  const { yes, no, each } = t.run.graph;
  const graph = useMemo(() => graphOf(definition, { yes, no, each }), [definition, yes, no, each]);
  const places = useMemo(() => placed(graph), [graph]);
  const nodes = places.map(({ id, label, type, x, y }): StepNodeType => ({
    id,
    type: 'step',
    position: { x, y },
    width: NODE_WIDTH,
    height: NODE_HEIGHT,
    data: { label, type, mark: marks?.get(id) },
  }));
  const edges = graph.edges.map(({ from, to, label, back }): Edge => ({
    id: `${from}-${to}-${label}`,
    source: from,
    target: to,
    label,
    type: 'smoothstep',
    className: back ? (styles['back'] ?? '') : '',
    markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14 },
  }));
  return (
    <div className={styles['graph']} role="group" aria-label={t.run.graph.label}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.15 }}
        minZoom={0.1}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        nodesFocusable={onPick !== undefined}
        preventScrolling={false}
        onNodeClick={(_, node) => onPick?.(node.id)}
      >
        <Background gap={16} size={1} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}

function StepBox({ data }: NodeProps<StepNodeType>): ReactNode {
  const { mark } = data;
  return (
    <div className={styles['box']} data-tone={mark?.tone ?? 'none'}>
      <Handle type="target" position={Position.Top} className={styles['handle'] ?? ''} isConnectable={false} />
      {mark === undefined ? null : <Icon name={mark.icon} size={16} />}
      <span className={styles['text']}>
        <span>{data.label}</span>
        <small>
          {data.type}
          {mark === undefined ? '' : ` · ${mark.word}${mark.note === '' ? '' : `, ${mark.note}`}`}
        </small>
      </span>
      <Handle type="source" position={Position.Bottom} className={styles['handle'] ?? ''} isConnectable={false} />
    </div>
  );
}
