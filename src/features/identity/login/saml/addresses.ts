/** Our URLs for one identity provider of one project. */
interface SamlAddresses {
  /** URL of our metadata, also used as our entity id. */
  readonly entityId: string;
  /** The assertion consumer service: the URL that responses are posted to. */
  readonly acsUrl: string;
}

/** Derives the URLs from the key alone, so that an identity provider can be configured before it is added here. */
export function addressesOf(baseUrl: string, projectId: string, key: string): SamlAddresses {
  const start = `${baseUrl.replace(/\/$/, '')}/account/sessions/saml/${key}`;
  const query = `?project=${projectId}`;
  return { entityId: `${start}/metadata${query}`, acsUrl: `${start}/acs${query}` };
}
