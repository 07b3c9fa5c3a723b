/** The functions of `yaml` that are needed, in a module that is loaded at its first use. */
export { parseDocument, stringify } from 'yaml';
