/** The first version of Node with all that the npm package needs: zstd, which snapshots use, came last. */
export const LEAST_NODE = "22.15"

/**
 * Returns why the npm package cannot run on a runtime with these `process.versions`; undefined where it can. Bun and
 * Deno name a version of Node too, and are accepted in every version.
 */
export function unfitRuntime({ node, bun, deno }: Readonly<Record<string, string | undefined>>): string | undefined {
  if (bun !== undefined || deno !== undefined || node === undefined || !isBefore(node, LEAST_NODE)) return undefined
  return `k3ts needs Node ${LEAST_NODE} or later, Bun 1.4 or Deno 2.9; this is Node ${node}`
}

/** Compares major and minor version. */
function isBefore(version: string, limit: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  const [leastMajor = 0, leastMinor = 0] = limit.split(".").map(Number)
  return major < leastMajor || (major === leastMajor && minor < leastMinor)
}
