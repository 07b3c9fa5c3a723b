// The type definitions of both packages declare the browser DOM for the whole program, so the packages are loaded without them. The types
// used are declared here.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

interface XmlNode {
  readonly nodeType: number;
  readonly nodeValue: string | null;
  readonly parentNode: XmlNode | null;
  readonly childNodes: ArrayLike<XmlNode>;
}

/** An attribute. The parser sets no namespace for attributes without a prefix. */
interface XmlAttribute {
  readonly name: string;
  readonly localName: string | null;
  readonly value: string;
}

/** An element of a document. */
export interface XmlElement extends XmlNode {
  readonly namespaceURI: string | null;
  readonly localName: string;
  readonly attributes: ArrayLike<XmlAttribute>;
  hasAttribute(name: string): boolean;
  getAttribute(name: string): string | null;
}

type ErrorHandler = Readonly<Record<'warning' | 'error' | 'fatalError', () => never>>;

/** An entity of samlify: a provider with its metadata. */
interface Entity {
  getMetadata(): string;
  createLoginRequest(
    provider: Entity,
    binding: 'redirect' | 'post',
    options: {
      readonly relayState: string;
      readonly customTagReplacement: (template: string) => { readonly id: string; readonly context: string };
    },
  ): { readonly context: string };
}
interface Endpoint {
  readonly Binding: string;
  readonly Location: string;
  readonly isDefault?: true;
}
interface Samlify {
  ServiceProvider(settings: {
    readonly entityID: string;
    readonly wantAssertionsSigned: true;
    readonly signingCert?: string;
    readonly encryptCert?: string;
    readonly authnRequestsSigned?: boolean;
    readonly nameIDFormat: readonly string[];
    readonly assertionConsumerService: readonly Endpoint[];
  }): Entity;
  IdentityProvider(settings: {
    readonly entityID: string;
    readonly singleSignOnService: readonly Endpoint[];
    readonly singleLogoutService: readonly Endpoint[];
  }): Entity;
  readonly SamlLib: {
    replaceTagsByValue(template: string, values: Readonly<Record<string, string | undefined>>): string;
  };
  readonly Constants: { readonly namespace: { readonly binding: Readonly<Record<'post' | 'redirect', string>> } };
}

/** The XML parser; xml-crypto uses the same one. */
export const { DOMParser } = require('@xmldom/xmldom') as {
  readonly DOMParser: new (options: {
    readonly errorHandler: ErrorHandler;
  }) => { parseFromString(xml: string, type: string): { readonly documentElement: XmlElement | null } };
};

/** Creates metadata of service providers and login requests. */
export const samlify = require('samlify') as Samlify;
