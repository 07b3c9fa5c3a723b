import type { TestContext } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { openChromium, serveTls } from '../harness/browser.js';
import { selfSigned } from '../harness/certificate.js';
import { servePage } from './page.js';

/** What a test of a page works with. */
type Scene = {
  service: TestAppliance;
  browser: BrowserContext;
  /** Opens the page under this host name. */
  open(hostname: string): Promise<Page>;
  endpoint: string;
};

/** A service under a host name, a site that uses it, and a browser without any past. Below `.example` both are reached by https. */
export async function scene(t: TestContext, hostname: string, act: (scene: Scene) => Promise<void>): Promise<void> {
  const chromium = await openChromium(t);
  if (chromium === undefined) return;
  const certificate = hostname.endsWith('.example') ? selfSigned(['*.shop.example']) : undefined;
  const scheme = certificate === undefined ? 'http' : 'https';
  const service = await startAppliance({ settings: { SVC_BASE_URL: `${scheme}://${hostname}/v1` } });
  const inner = Number(new URL(service.origin).port);
  const front = certificate && (await serveTls(inner, certificate));
  const endpoint = `${scheme}://${hostname}:${front?.port ?? inner}/v1`;
  const site = await servePage(endpoint, service.project.id, certificate);
  const browser = await chromium.newContext();
  const open = async (name: string) => {
    const page = await browser.newPage();
    await page.goto(`${scheme}://${name}:${site.port}/`);
    return page;
  };
  try {
    await act({ service, browser, open, endpoint });
  } finally {
    await chromium.close();
    await site.close();
    await front?.close();
  }
}

/** What the access log says of requests, oldest first. */
export const answered = (
  service: TestAppliance,
): { event: string; method: string; status: number; actor?: string; type?: string }[] =>
  service
    .log()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event === 'request');

/** Registers a host name as a platform of the project. */
export const register = ({ appliance, project }: TestAppliance, hostname: string) =>
  appliance.runtime.db.work({ projectId: project.id, actor: { kind: 'operator', id: 'test' }, requestId: '' }, (unit) =>
    appliance.features.projects.addPlatform(unit, project.id, { id: 'unique()', name: '', type: 'web', hostname }),
  );
