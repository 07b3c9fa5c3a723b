import { type GuardOptions, requirePlainXml } from './guard.js';
import { DOMParser, type XmlElement } from './packages.js';
import { SamlRefused } from './refused.js';

/** Namespaces of SAML 2.0, XML Signature and XML Encryption. */
const namespaces = {
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  encryption: 'http://www.w3.org/2001/04/xmlenc#',
  canonical: 'http://www.w3.org/2001/10/xml-exc-c14n#',
} as const;

type Namespace = keyof typeof namespaces;

/** Parses a document after it has passed the guard; returns its root element. Throws SamlRefused. */
export function parseXml(xml: string, options?: GuardOptions): XmlElement {
  requirePlainXml(xml, options);
  const refuse = (): never => {
    throw new SamlRefused('malformed xml');
  };
  const errorHandler = { warning: refuse, error: refuse, fatalError: refuse };
  return new DOMParser({ errorHandler }).parseFromString(xml, 'text/xml').documentElement ?? refuse();
}

/** True if an element has this name in this namespace. */
export function isNamed(element: XmlElement, namespace: Namespace, name: string): boolean {
  return element.namespaceURI === namespaces[namespace] && element.localName === name;
}

/** Child elements of an element. */
export function elementsOf(element: XmlElement): XmlElement[] {
  return Array.from(element.childNodes).filter((node): node is XmlElement => node.nodeType === 1);
}

/** Child elements with this name. */
export function childrenOf(element: XmlElement, namespace: Namespace, name: string): XmlElement[] {
  return elementsOf(element).filter((child) => isNamed(child, namespace, name));
}

/** The child element with this name; undefined if there are none or several. */
export function onlyChildOf(element: XmlElement, namespace: Namespace, name: string): XmlElement | undefined {
  const [first, ...others] = childrenOf(element, namespace, name);
  return others.length === 0 ? first : undefined;
}

/** An element and its descendants in document order. */
export function withDescendants(root: XmlElement): XmlElement[] {
  const found: XmlElement[] = [];
  const waiting = [root];
  for (let element = waiting.pop(); element !== undefined; element = waiting.pop()) {
    found.push(element);
    waiting.push(...elementsOf(element).reverse());
  }
  return found;
}

/** The value of an attribute without a namespace; undefined if it is absent. */
export function xmlAttribute(element: XmlElement, name: string): string | undefined {
  return element.hasAttribute(name) ? (element.getAttribute(name) ?? undefined) : undefined;
}

/** The text of an element that contains only text, without surrounding white space; undefined for other elements. */
export function textOf(element: XmlElement | undefined): string | undefined {
  if (element === undefined) return undefined;
  const nodes = Array.from(element.childNodes);
  return nodes.every(({ nodeType }) => nodeType === 3)
    ? nodes
        .map(({ nodeValue }) => nodeValue)
        .join('')
        .trim()
    : undefined;
}
