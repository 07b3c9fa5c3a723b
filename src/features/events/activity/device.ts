import { createRequire } from 'node:module';
import type { Device } from '#src/contract/session.js';

/** Maximum length that is parsed. The rest of a user agent does not describe the browser. */
const maxCharacters = 512;

/** Empty device, for a request without a user agent and for a user without a session. */
export const unknownDevice: Device = {
  osCode: '',
  osName: '',
  osVersion: '',
  clientType: '',
  clientCode: '',
  clientName: '',
  clientVersion: '',
  clientEngine: '',
  clientEngineVersion: '',
  deviceName: '',
  deviceBrand: '',
  deviceModel: '',
};

/** Codes of operating systems, by the parser's names. */
const systems: Readonly<Record<string, string>> = {
  Windows: 'WIN',
  macOS: 'MAC',
  Linux: 'LIN',
  Android: 'AND',
  iOS: 'IOS',
  'Chrome OS': 'COS',
};
/** Codes and names of desktop browsers, by the parser's names. */
const browsers: Readonly<Record<string, readonly [code: string, name: string]>> = {
  Chrome: ['CH', 'Chrome'],
  Chromium: ['CR', 'Chromium'],
  Firefox: ['FF', 'Firefox'],
  Safari: ['SF', 'Safari'],
  'Microsoft Edge': ['PS', 'Microsoft Edge'],
  Opera: ['OP', 'Opera'],
  'Internet Explorer': ['IE', 'Internet Explorer'],
  'Samsung Internet for Android': ['SB', 'Samsung Browser'],
  Vivaldi: ['VI', 'Vivaldi'],
  Brave: ['BR', 'Brave'],
  'Yandex Browser': ['YA', 'Yandex Browser'],
  'UC Browser': ['UC', 'UC Browser'],
};
/** Browsers with another code on phones and tablets. */
const mobileBrowsers: typeof browsers = {
  Chrome: ['CM', 'Chrome Mobile'],
  Firefox: ['FM', 'Firefox Mobile'],
  Safari: ['MF', 'Mobile Safari'],
  Opera: ['OM', 'Opera Mobile'],
};
const deviceNames: Readonly<Record<string, string>> = { mobile: 'smartphone' };

/** Creates a parser of user agents. It detects browser, system and device. */
export function createDeviceReader(): (userAgent: string) => Device {
  const bowser = createLoader();
  return (userAgent) => {
    const text = userAgent.slice(0, maxCharacters);
    if (text === '') return unknownDevice;
    const { browser, os, platform, engine } = bowser().parse(text);
    const isMobile = platform.type === 'mobile' || platform.type === 'tablet';
    const code = (isMobile ? mobileBrowsers[browser.name ?? ''] : undefined) ?? browsers[browser.name ?? ''];
    const system = {
      osCode: systems[os.name ?? ''] ?? '',
      osName: os.name ?? '',
      // The version name of Windows (such as 10) differs from its version number (such as NT 10.0).
      osVersion: (os.name === 'Windows' ? os.versionName : os.version) ?? '',
      deviceName: deviceNames[platform.type ?? ''] ?? platform.type ?? '',
      deviceBrand: platform.vendor ?? '',
      deviceModel: platform.model ?? '',
    };
    if (engine.name === undefined) return { ...unknownDevice, ...system, ...libraryOf(text) };
    return {
      ...system,
      clientType: 'browser',
      clientCode: code?.[0] ?? '',
      clientName: code?.[1] ?? browser.name ?? '',
      clientVersion: browser.version ?? '',
      clientEngine: engine.name,
      clientEngineVersion: engine.version ?? '',
    };
  };
}

/** Name and version of a client that is not a browser, such as `curl/8.1.2`. */
function libraryOf(text: string): Pick<Device, 'clientType' | 'clientName' | 'clientVersion'> {
  const [, clientName = '', clientVersion = ''] =
    /^([A-Za-z][\w.+-]{0,63})(?:\/([\w.+-]{1,32}))?(?:\s|$)/.exec(text) ?? [];
  return { clientType: clientName === '' ? '' : 'library', clientName, clientVersion };
}

/** Loads the parser on first use. Uses `require`, not `import()`: a unit of work may await SQL only. */
function createLoader(): () => typeof import('bowser') {
  const require = createRequire(import.meta.url);
  let loaded: typeof import('bowser') | undefined;
  return () => {
    loaded ??= require('bowser') as typeof import('bowser');
    return loaded;
  };
}
