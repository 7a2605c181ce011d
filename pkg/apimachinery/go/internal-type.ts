import type { Resource } from "../resource.ts"

/** Returns the name that upstream's messages have for a kind: its internal Go type, for instance `apps.Deployment`. */
export function internalType({ group, kind, storedAs }: Pick<Resource, "group" | "kind" | "storedAs">): string {
  const name = storedAs?.group ?? group
  return `${name === "" ? "core" : name.split(".")[0]!}.${storedAs?.kind ?? kind}`
}
