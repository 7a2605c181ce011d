import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, realpathSync } from "node:fs"
import { dirname, join } from "node:path"

const NAME = /^kubectl(\.1\.\d+)?$/
const inDir = (dir: string): readonly string[] =>
  existsSync(dir)
    ? readdirSync(dir)
        .filter((name) => NAME.test(name))
        .map((name) => join(dir, name))
    : []

/**
 * The kubectl binaries that tests can use, as pairs of version and path, one of each version: `kubectl` and
 * `kubectl.1.NN` on the PATH and beside where these really are, and the one that `hack/setup.sh --test` fetches, and
 * those that K3TS_TEST_KUBECTLS names (paths, separated by colons).
 */
export function findKubectls(): readonly (readonly [version: string, path: string])[] {
  const named = (process.env.K3TS_TEST_KUBECTLS ?? "").split(":").filter((path) => path !== "" && existsSync(path))
  const onPath = (process.env.PATH ?? "").split(":").flatMap(inDir)
  const beside = [...new Set(onPath.map((path) => dirname(realpathSync(path))))].flatMap(inDir)
  const versionOf = (path: string) =>
    /gitVersion:\s*v?(\S+)/.exec(
      spawnSync(path, ["version", "--client", "-o", "yaml"], { encoding: "utf8" }).stdout,
    )?.[1] ?? "?"
  const fetched = inDir(join(import.meta.dirname, "../node_modules/.cache/kubernetes-client/usr/bin"))
  return [...new Map([...named, ...onPath, ...beside, ...fetched].map((path) => [versionOf(path), path]))].sort(
    ([a], [b]) => a.localeCompare(b, "en", { numeric: true }),
  )
}
