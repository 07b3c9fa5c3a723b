import { absentParam, invalidParam } from '#src/contract/errors.js';
import { appOrigin, callbackScheme, typesOn } from '#src/contract/platform.js';
import type { Project } from '#src/contract/project.js';
import { isBelow } from '#src/contract/web-address.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { hostnameCandidates } from './hosts.js';
import type { ProjectStore } from './store.js';

const localNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** Origins of a project: those of its web pages and apps. */
export interface ProjectOrigins {
  /** True for the service's own origin, and for localhost during development. Both are allowed in every project. */
  isOwnOrigin(origin: string): boolean;
  /** True for the origin of one of the project's apps or pages (https, or http on localhost). */
  allowsOrigin(project: Project, origin: string): boolean;
  /**
   * A URL that a message or redirect may use: on a platform of the project, or with the scheme that only its apps open. Refuses misleading
   * parts such as credentials (RFC 9700 §2.1). Throws Failure for anything else.
   */
  requireOwnUrl(project: Project, text: string, param?: string): URL;
  /** Like `requireOwnUrl`, but returns undefined instead of throwing. */
  ownUrl(project: Project, text: string): URL | undefined;
  /** True if any project has the origin. A preflight request does not contain the project. */
  anyAllowsOrigin(reader: Reader, origin: string): Promise<boolean>;
  /** Advice for operators about a refused origin. The project is unknown after a preflight. */
  adviceFor(origin: string, projectId: string | null): string;
}

interface Deps {
  readonly base: URL;
  readonly isLocal: boolean;
  /** Addresses of the pages of the service. */
  readonly pages: readonly URL[];
  readonly store: ProjectStore;
}

/** Creates the check of origins. */
export function createProjectOrigins({ config }: Pick<Runtime, 'config'>, store: ProjectStore): ProjectOrigins {
  const base = new URL(config.baseUrl);
  const pages = ['auth', 'pages'].map((name) => new URL(`${config.baseUrl.replace(/\/$/, '')}/${name}`));
  const deps: Deps = { base, isLocal: localNames.includes(base.hostname), pages, store };
  return { ...bind(deps, { isOwnOrigin, allowsOrigin, requireOwnUrl, ownUrl, anyAllowsOrigin }), adviceFor };
}

function isOwnOrigin(deps: Deps, origin: string): boolean {
  const url = webOrigin(origin);
  return url !== undefined && isOurs(deps, url);
}

function isOurs({ base, isLocal }: Deps, url: URL): boolean {
  return url.origin === base.origin || (isLocal && localNames.includes(url.hostname));
}

function allowsOrigin(deps: Deps, project: Project, origin: string): boolean {
  const app = appOrigin(origin);
  if (app !== undefined) {
    const types = typesOn(app.system);
    return project.apps.some(({ type, id }) => types.includes(type) && id.toLowerCase() === app.id.toLowerCase());
  }
  const url = webOrigin(origin);
  if (url === undefined) return false;
  return isOurs(deps, url) || hostnameCandidates(url.hostname).some((name) => project.hostnames.includes(name));
}

function requireOwnUrl(deps: Deps, project: Project, text: string, param = 'url'): URL {
  const url = ownUrl(deps, project, text);
  if (url !== undefined) return url;
  if (text === '') throw absentParam(param);
  const ofApps = project.apps.length > 0 ? `an address of the scheme ${callbackScheme(project)}, or ` : '';
  throw invalidParam(
    param,
    `must be ${ofApps}an http or https URL whose host is a platform of the project.${platformFor(deps, project, text)}`,
  );
}

function ownUrl(deps: Deps, project: Project, text: string): URL | undefined {
  const url = /[\\\p{Cc}\s]/u.test(text) || !URL.canParse(text) ? undefined : new URL(text);
  const isPlain = url !== undefined && url.username === '' && url.password === '';
  if (url?.protocol === `${callbackScheme(project)}:`) return isPlain && project.apps.length > 0 ? url : undefined;
  // `blob:` and similar schemes report the origin of the URL they wrap.
  const isWeb = isPlain && (url.protocol === 'https:' || url.protocol === 'http:');
  // Refuses API URLs: a browser would call them with its credentials. Only the service's pages are allowed.
  const isApi = url !== undefined && isBelow(url, deps.base) && !deps.pages.some((page) => isBelow(url, page));
  return isWeb && !isApi && allowsOrigin(deps, project, url.origin) ? url : undefined;
}

/** Hint how to add the host of a URL as a platform; empty if it already is one. */
function platformFor(deps: Deps, project: Project, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || allowsOrigin(deps, project, `https://${url.host}`))
    return '';
  return ` To add the host: svc platform add --project ${project.id} --hostname HOST`;
}

async function anyAllowsOrigin(deps: Deps, reader: Reader, origin: string): Promise<boolean> {
  const { store } = deps;
  const app = appOrigin(origin);
  if (app !== undefined)
    return (await reader.one(store.anyPlatform(typesOn(app.system), [app.id.toLowerCase()]))) !== undefined;
  const url = webOrigin(origin);
  if (url === undefined) return false;
  const names = hostnameCandidates(url.hostname);
  return isOurs(deps, url) || (await reader.one(store.anyPlatform(['web'], names))) !== undefined;
}

function adviceFor(origin: string, projectId: string | null): string {
  const command = `svc platform add --project ${projectId ?? 'ID'}`;
  const app = appOrigin(origin);
  if (app?.id === '') return 'name the app in its code, with client.setPlatform(ID): its origin has no id';
  const [type] = typesOn(app?.system ?? '');
  if (app !== undefined && type !== undefined)
    return `if the app is yours: ${command} --type ${type} --package ${app.id}`;
  const url = webOrigin(origin);
  // Host names may contain shell metacharacters.
  if (url !== undefined && /^[\w.-]+$/.test(url.hostname))
    return `if the page is yours: ${command} --hostname ${url.hostname}`;
  if (origin.startsWith('http://')) return 'serve the page over https: over http only localhost can be allowed';
  if (origin === 'null') return 'serve the page from a web server: files and sandboxed frames have no origin';
  return 'use a page over https, or over http on localhost: other origins cannot be allowed';
}

function webOrigin(origin: string): URL | undefined {
  if (!URL.canParse(origin)) return undefined;
  const url = new URL(origin);
  const isSecure = url.protocol === 'https:' || (url.protocol === 'http:' && localNames.includes(url.hostname));
  return isSecure && url.origin === origin ? url : undefined;
}
