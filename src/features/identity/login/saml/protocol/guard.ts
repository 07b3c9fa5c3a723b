import { samlLimits } from '#src/contract/limits.js';
import { SamlRefused } from './refused.js';

const name = '[A-Za-z_][\\w.-]*(?::[A-Za-z_][\\w.-]*)?';
const declaration =
  /<\?xml\s+version=(["'])1\.0\1(?:\s+encoding=(["'])utf-8\2)?(?:\s+standalone=(["'])(?:yes|no)\3)?\s*\?>\s*/iy;
const text = /[^<]+/y;
const opening = new RegExp(`<(${name})`, 'y');
const attribute = new RegExp(`\\s+(${name})\\s*=\\s*(?:"([^"<]*)"|'([^'<]*)')`, 'y');
const openingEnd = /\s*(\/?)>/y;
const closing = new RegExp(`</(${name})\\s*>`, 'y');
const remark = /<!--(?:(?!--)[\s\S])*-->|<\?(?!xml\s)[A-Za-z_][\w.-]*(?:\s(?:(?!\?>)[\s\S])*)?\?>/iy;

/** Characters that a document must not contain, directly or by reference (XML 1.0 §2.2). */
const foreignCharacter = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const reference = /&(?:(?:lt|gt|amp|quot|apos)|#(\d{1,7})|#x([0-9A-Fa-f]{1,6}));/g;

/** Optional contents of a document besides elements. */
export interface GuardOptions {
  /** Comments and processing instructions, which no parser may treat as data; they are common in metadata. */
  readonly remarks?: true;
}

/**
 * Rejects any document that is not plain, small XML, in one pass before a parser reads it. DTDs, entities, CDATA, comments and processing
 * instructions are forbidden, and everything that a parser or canonicaliser visits repeatedly is limited. Throws SamlRefused.
 */
export function requirePlainXml(xml: string, { remarks }: GuardOptions = {}): void {
  if (foreignCharacter.test(xml)) throw new SamlRefused('malformed xml');
  requireReferences(xml);
  const open: OpenElement[] = [];
  const seen = { elements: 0, attributes: 0 };
  let at = match(declaration, xml, 0)?.end ?? 0;
  while (at < xml.length) {
    const step =
      readText(xml, at, open) ??
      readOpening(xml, at, open, seen) ??
      readClosing(xml, at, open) ??
      (remarks ? match(remark, xml, at)?.end : undefined);
    if (step === undefined)
      throw new SamlRefused(xml.startsWith('<!', at) ? 'doctype, comment or cdata' : 'malformed xml');
    at = step;
  }
  if (open.length > 0 || seen.elements === 0) throw new SamlRefused('malformed xml');
}

/** An open element and the number of namespace declarations in scope. */
interface OpenElement {
  readonly name: string;
  readonly namespaces: number;
}

/** Counts so far. */
interface Seen {
  elements: number;
  attributes: number;
}

/** Allows only the predefined entities and references to characters by number; without a DTD there are no other entities. */
function requireReferences(xml: string): void {
  let count = 0;
  for (const [, decimal, hexadecimal] of xml.matchAll(reference)) {
    count += 1;
    if (decimal === undefined && hexadecimal === undefined) continue;
    const code = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal);
    if (code > 0x10ffff || foreignCharacter.test(String.fromCodePoint(code))) throw new SamlRefused('malformed xml');
  }
  if (count !== xml.split('&').length - 1) throw new SamlRefused('entity');
}

function readText(xml: string, at: number, open: readonly OpenElement[]): number | undefined {
  const found = match(text, xml, at);
  if (found === undefined) return undefined;
  const isStray = open.length === 0 && found[0].trim() !== '';
  if (isStray || found[0].includes(']]>')) throw new SamlRefused('malformed xml');
  return found.end;
}

function readOpening(xml: string, start: number, open: OpenElement[], seen: Seen): number | undefined {
  const found = match(opening, xml, start);
  if (found === undefined) return undefined;
  if (open.length === 0 && seen.elements > 0) throw new SamlRefused('malformed xml');
  const names = new Set<string>();
  let at = found.end;
  for (let next = match(attribute, xml, at); next !== undefined; next = match(attribute, xml, at)) {
    const key = next[1] ?? '';
    if (names.has(key)) throw new SamlRefused('malformed xml');
    names.add(key);
    at = next.end;
  }
  const end = match(openingEnd, xml, at);
  if (end === undefined) throw new SamlRefused('malformed xml');
  const declared = [...names].filter((key) => key === 'xmlns' || key.startsWith('xmlns:')).length;
  const namespaces = (open.at(-1)?.namespaces ?? 0) + declared;
  seen.elements += 1;
  seen.attributes += names.size;
  const isTooMuch =
    open.length >= samlLimits.depth ||
    names.size > samlLimits.attributesOfElement ||
    namespaces > samlLimits.namespacesInScope ||
    seen.elements > samlLimits.elements ||
    seen.attributes > samlLimits.attributes;
  if (isTooMuch) throw new SamlRefused('too large or too deep');
  if (end[1] !== '/') open.push({ name: found[1] ?? '', namespaces });
  return end.end;
}

function readClosing(xml: string, at: number, open: OpenElement[]): number | undefined {
  const found = match(closing, xml, at);
  if (found === undefined) return undefined;
  if (open.pop()?.name !== found[1]) throw new SamlRefused('malformed xml');
  return found.end;
}

/** The match of a pattern exactly at this position, and its end. */
function match(pattern: RegExp, xml: string, at: number): (RegExpExecArray & { readonly end: number }) | undefined {
  pattern.lastIndex = at;
  const found = pattern.exec(xml);
  return found === null ? undefined : Object.assign(found, { end: pattern.lastIndex });
}
