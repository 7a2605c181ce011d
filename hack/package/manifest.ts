import { ENTRIES } from "./entries.ts"

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
  const ways = Object.keys(ENTRIES).map((entry) => [
    `./${entry}`,
    { types: `./dist/types/${entry}.d.ts`, default: `./dist/${entry}.js` },
  ])
  return {
    name,
    version,
    description: "Whole Kubernetes clusters inside tests, with a virtual clock; operators in TypeScript",
    keywords: ["kubernetes", "testing", "operator", "controller", "cluster", "virtual-time"],
    license,
    type: "module",
    exports: { ...Object.fromEntries(ways), "./package.json": "./package.json" },
    bin: { [name]: "./dist/cli.js" },
    files: ["dist", "THIRD-PARTY-LICENSES"],
    // Node 22.13 is the first with node:sqlite. The others: what the tests of the package run on.
    engines: { node: ">=22.13", bun: ">=1.4", deno: ">=2.9" },
  }
}
