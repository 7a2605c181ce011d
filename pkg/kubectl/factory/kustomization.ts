import type { Environment } from "../environment/environment.ts"

/** Builds the kustomization of a folder or an address, as YAML. */
export function buildKustomization(_environment: Environment, path: string): Promise<string> {
  return Promise.reject(new Error(`kustomizations such as ${path} cannot be built yet`))
}
