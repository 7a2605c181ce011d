import { join } from "node:path"

/** The configuration that k3ts keeps by itself below `<data-dir>/server`, with its keys; where k3s has it too. */
export const ownConfigurationFile = (dir: string): string => join(dir, "cred", "encryption-config.json")

/** How far the last change of keys has come. */
export const stageFile = (dir: string): string => join(dir, "cred", "encryption-state.json")
