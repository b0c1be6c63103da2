// Turns the circle of a story so that a person sees it at once.
//
// A derivation often closes its circle at a write that must come before the source of a read R: W comes before R, R
// returned the value of S, so W comes before S; but S comes before W. The same is easier to see as a circle through the
// read: W comes before R, and R comes before W, because R returned the value of S, which W overwrites. Both say the
// same, and both rest on the same premises.

import type { Line, Span } from './data';
import type { Story, StoryEdge, StoryNode, StoryPart } from './story';

/** The same story, with its circles through the reads. */
export function clarify(story: Story): Story {
  return { ...story, parts: story.parts.map((part) => throughRead(story, part) ?? part) };
}

/** A node in words: `line 3 [0] w x 1`. */
function words(node: StoryNode): Line {
  if (node.operations.length === 0) return [{ style: 'operation', text: node.text }];
  return [place(node), { style: 'plain', text: ' ' }, { style: 'operation', text: node.text }];
}

function place(node: StoryNode): Span {
  return { style: 'place', text: node.place, operation: node.operations[0] };
}

const plain = (text: string): Span => ({ style: 'plain', text });

function throughRead(story: Story, part: StoryPart): StoryPart | null {
  const conflicts = part.circle.filter((edge) => ['conflict', 'coherence'].includes(part.edges[edge]!.kind));
  if (conflicts.length !== 1) return null;
  const conflict = part.edges[conflicts[0]!]!;
  const { from: write, to: source, premises } = conflict;
  const path = premises.slice(0, -1);
  const reads = premises[premises.length - 1];
  if (reads === undefined || path.length === 0) return null;
  const { kind, from, to: read } = part.edges[reads]!;
  const isPath = path.every(
    (edge, at) => part.edges[edge]!.from === (at === 0 ? write : part.edges[path[at - 1]!]!.to),
  );
  if (kind !== 'reads-from' || from !== source || !isPath || part.edges[path[path.length - 1]!]!.to !== read)
    return null;
  const rest = part.circle.filter((edge) => edge !== conflicts[0]);
  const [readNode, writeNode, sourceNode] = [read, write, source].map((node) => story.nodes[node]!) as [
    StoryNode,
    StoryNode,
    StoryNode,
  ];
  const overwritten: StoryEdge = {
    from: read,
    to: write,
    kind: 'read-write',
    label: 'rw',
    sentence: [
      ...words(readNode),
      plain(' reads '),
      ...words(sourceNode),
      plain(', which '),
      ...words(writeNode),
      plain(' overwrites, so '),
      place(readNode),
      plain(' comes before '),
      place(writeNode),
    ],
    premises: [...rest, reads],
    refuted_by: null,
  };
  const edges = [...part.edges, overwritten];
  const circle = [...path, edges.length - 1];
  const core = [...new Set(circle.flatMap((edge) => [edges[edge]!.from, edges[edge]!.to]))].sort((a, b) => a - b);
  return { ...part, edges, circle, core };
}

/** The words of a heading without those that lead to a table. */
export function headline(text: string): string {
  return text.replace(/(; open at its return|(: )?each of these [^:]*)?:?\s*$/, '');
}

/** The violation in one sentence. */
export function lead(story: Story): Line {
  const part = story.parts[story.parts.length - 1];
  const last = part?.edges[part.circle[part.circle.length - 1] ?? -1];
  const isPlain = story.heading
    .map(({ text }) => text)
    .join('')
    .includes('in a circle');
  if (
    isPlain &&
    story.parts.length === 1 &&
    last?.kind === 'read-write' &&
    last === part!.edges[part!.edges.length - 1]
  ) {
    const [source] = last.premises.slice(-1).map((edge) => story.nodes[part!.edges[edge]!.from]!);
    const [read, write] = [story.nodes[last.from]!, story.nodes[last.to]!];
    const value: Line = source!.operations.length === 0 ? words(source!) : [plain('the value of '), ...words(source!)];
    return [
      { style: 'heading', text: 'Stale read: ' },
      ...words(read),
      plain(' returns '),
      ...value,
      plain(', although '),
      ...words(write),
      plain(' overwrites it and must come first.'),
    ];
  }
  // The last words of a heading may lead to a table.
  const line = story.heading.map((span) => ({ ...span }));
  const end = line.pop();
  const text = headline(end?.text ?? '');
  if (end && text !== '') line.push({ ...end, text: `${text}.` });
  else if (line.length > 0) line[line.length - 1]!.text = line[line.length - 1]!.text.replace(/:?\s*$/, '.');
  if (line.length > 0) line[0]!.text = line[0]!.text.charAt(0).toUpperCase() + line[0]!.text.slice(1);
  return line;
}
