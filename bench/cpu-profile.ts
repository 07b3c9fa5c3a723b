import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from './programs.js';

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
    readonly columnNumber: number;
  };
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const waiting = new Set(['(idle)', '(root)']);
const listed = 20;

/** The names of the profiles that lie in a directory. */
export function listProfiles(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => name.endsWith('.cpuprofile'));
  } catch {
    return []; // made by the first profiled server
  }
}

/** Where the busy time of the main thread went: shares by owner, then our own hottest functions by their own time. */
export function summarizeProfile(directory: string, name: string): string[] {
  const profile = JSON.parse(readFileSync(join(directory, name), 'utf8')) as Profile;
  const locate = createLocator();
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, locate(callFrame)]));
  const byOwner = new Map<string, number>();
  const byFunction = new Map<string, number>();
  let busy = 0;
  profile.samples.forEach((id, index) => {
    const frame = frames.get(id);
    const time = profile.timeDeltas[index] ?? 0;
    if (frame === undefined || waiting.has(frame.functionName)) return;
    const owner = ownerOf(frame);
    busy += time;
    add(byOwner, owner, time);
    if (owner === 'our own code') add(byFunction, describe(frame), time);
  });
  const lines = (times: Map<string, number>): string[] =>
    [...times]
      .sort(([, a], [, b]) => b - a)
      .slice(0, listed)
      .map(([label, time]) => `${((100 * time) / busy).toFixed(1).padStart(6)} %  ${label}`);
  return [`${name}, main thread, share of busy time:`, ...lines(byOwner), 'our own functions:', ...lines(byFunction)];
}

/** Finds where a function of the bundle was written, by the maps beside it. */
function createLocator(): (frame: ProfileNode['callFrame']) => ProfileNode['callFrame'] {
  const maps = new Map<string, SourceMap | undefined>();
  const mapOf = (file: string): SourceMap | undefined => {
    if (!maps.has(file)) {
      const path = `${file}.map`;
      maps.set(file, existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : undefined);
    }
    return maps.get(file);
  };
  return (frame) => {
    if (!frame.url.startsWith('file:')) return frame;
    const entry = mapOf(fileURLToPath(frame.url))?.findEntry(frame.lineNumber, frame.columnNumber);
    if (entry === undefined || !('originalSource' in entry)) return frame;
    return { ...frame, url: new URL(entry.originalSource, frame.url).href, lineNumber: entry.originalLine };
  };
}

function ownerOf({ functionName, url }: ProfileNode['callFrame']): string {
  if (url === '') return functionName.startsWith('(') ? functionName : 'native functions';
  if (url.startsWith('node:')) return 'Node';
  const dependency = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  return dependency ?? 'our own code';
}

function describe({ functionName, url, lineNumber }: ProfileNode['callFrame']): string {
  const path = url.startsWith('file:') ? fileURLToPath(url) : url;
  return `${functionName || '(anonymous)'}  ${path.replace(projectRoot, '')}:${lineNumber + 1}`;
}

function add(times: Map<string, number>, label: string, time: number): void {
  times.set(label, (times.get(label) ?? 0) + time);
}
