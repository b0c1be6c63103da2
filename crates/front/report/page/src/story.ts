// The story of a violation, as the crate writes it (`report::story`).

import type { Line } from './data';

export interface StoryNode {
  operations: number[];
  thread: number | null;
  place: string;
  action: string;
  text: string;
  key: string;
  value: string | null;
  call: number | null;
  ret: number | null;
  is_pending: boolean;
}

export interface StoryEdge {
  from: number;
  to: number;
  kind: string;
  label: string;
  sentence: Line;
  premises: number[];
  refuted_by: number | null;
}

export interface StoryPart {
  title: Line;
  supposes: Line[];
  edges: StoryEdge[];
  circle: number[];
  core: number[];
  uses: number[];
  contents: Line[];
}

export interface Story {
  heading: Line;
  threads: string[];
  nodes: StoryNode[];
  parts: StoryPart[];
  hints: Line[];
}

/** What the kinds of edges mean. */
export const KINDS: Record<string, string> = {
  'program-order': 'order of a thread',
  initial: 'initial values come first',
  'reads-from': 'returned the value that was written',
  performed: 'performed later',
  'real-time': 'returned before the other was called',
  value: 'returned the value that was put in',
  supposed: 'supposed',
  synchronises: 'an acquire saw a release',
  conflict: 'a write before a read of another write comes before that write',
  'store-order': 'stored in the order in which they happen',
  'read-write': 'read before it was overwritten',
  coherence: 'order of the writes of a location',
  atomicity: 'read-modify-writes stand together',
  refuted: 'the opposite was refuted',
  before: 'must come first',
  session: 'order of a session',
  ended: 'ended before the other began',
  'write-read': 'one transaction reads what the other wrote',
  version: 'order of the versions of a list',
  'version-order': 'order of the versions that the reads force',
  'anti-dependency': 'read a version that the other overwrites',
};

/** The kinds that the history itself states. They are drawn solid, the others broken. */
const BASIC = new Set([
  'program-order',
  'initial',
  'reads-from',
  'performed',
  'real-time',
  'value',
  'supposed',
  'session',
  'ended',
  'write-read',
  'version',
]);

export function isBasic(edge: StoryEdge): boolean {
  return BASIC.has(edge.kind);
}

/** The colour of an edge: by what it rests on. */
export function colourOf(edge: StoryEdge): string {
  if (['program-order', 'initial', 'real-time', 'session', 'ended'].includes(edge.kind)) return 'order';
  if (['reads-from', 'value', 'synchronises', 'write-read'].includes(edge.kind)) return 'flow';
  return 'derived';
}
