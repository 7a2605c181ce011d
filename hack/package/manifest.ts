import { LEAST_NODE } from "../../pkg/version/runtime.ts"
import { ENTRIES, fileOf, RUNNERS } from "./entries.ts"

/** What of our own package.json the package has too. */
export interface OwnManifest {
  readonly name: string
  readonly version: string
  readonly license: string
}

/**
 * The package.json of the package. It depends on nothing: all libraries are in the bundle. `types` comes first, as
 * TypeScript takes the first condition that holds.
 */
export function packageManifest({ name, version, license }: OwnManifest): object {
  const way = (entry: string, file: string) => [
    `./${entry}`,
    { types: `./dist/types/${file}.d.ts`, default: `./dist/${file}.js` },
  ]
  const ways = [
    ...Object.entries(ENTRIES).map(([entry, module]) => way(entry, fileOf(module))),
    ...Object.keys(RUNNERS).map((name) => way(`testing/matchers/${name}`, `matchers-${name}`)),
  ]
  const runners = Object.values(RUNNERS).flatMap(({ package: name, versions = "*" }) =>
    name === undefined ? [] : [[name, versions] as const],
  )
  return {
    name,
    version,
    description: "Whole Kubernetes clusters inside tests, with a virtual clock; operators in TypeScript",
    keywords: ["kubernetes", "testing", "operator", "controller", "cluster", "virtual-time"],
    license,
    type: "module",
    exports: { ...Object.fromEntries(ways), "./package.json": "./package.json" },
    // Each only for its own way in.
    peerDependencies: Object.fromEntries(runners),
    peerDependenciesMeta: Object.fromEntries(runners.map(([runner]) => [runner, { optional: true }])),
    bin: { [name]: "./dist/cli.js" },
    files: ["dist", "THIRD-PARTY-LICENSES"],
    // Of Bun and Deno: what the tests of the package run on.
    engines: { node: `>=${LEAST_NODE}`, bun: ">=1.4", deno: ">=2.9" },
  }
}
