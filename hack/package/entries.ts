/** The ways into the package: the name behind `k3ts/`, and the module of our sources, whose name the files have. */
export const ENTRIES: Readonly<Record<string, string>> = {
  testing: "components/cluster/testing/testing.ts",
  "testing/matchers": "components/cluster/testing/matchers/matchers.ts",
  operator: "pkg/operator/operator.ts",
  scheduler: "pkg/scheduler-plugin/scheduler.ts",
}

/** Modules of the package that are loaded by their files' names, and not by others: the threads of `runClusters`. */
export const THREADS: readonly string[] = ["components/cluster/testing/workers/cluster-worker.ts"]

/** The name of an entry's files: `matchers` of `matchers.js` and `matchers.d.ts`. */
export const fileOf = (module: string): string => /([^/]+)\.ts$/.exec(module)?.[1] ?? module

/** A test runner whose `expect` the matchers are brought into by `k3ts/testing/matchers/<name>`. */
export interface Runner {
  /** The module that exports `expect`. */
  readonly module: string
  /** The package that brings it; undefined for what is part of a runtime. */
  readonly package: string | undefined
  /** Its versions with which the matchers have their types: the first that is tested, and later ones. */
  readonly versions?: string
  /** The declaration that adds our matchers to those of its `expect`. */
  readonly types: string
  /** Its function that tells of a test that has failed; undefined for a runner that has none. */
  readonly whenTestFails?: string
}

export const RUNNERS: Readonly<Record<string, Runner>> = {
  bun: {
    module: "bun:test",
    package: undefined,
    types: `declare module "bun:test" {\n  interface Matchers<T> extends ClusterMatchers {}\n}\n`,
  },
  vitest: {
    module: "vitest",
    whenTestFails: "onTestFailed",
    package: "vitest",
    versions: ">=5.0.0",
    // Its parameters must be those of vitest's own: these are of vitest 5.
    types:
      'declare module "vitest" {\n' +
      "  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> " +
      "extends ClusterMatchers {}\n}\n",
  },
  jest: {
    module: "@jest/globals",
    package: "@jest/globals",
    versions: ">=30.0.0",
    types: `declare module "expect" {\n  interface Matchers<R> extends ClusterMatchers {}\n}\n`,
  },
  expect: {
    module: "expect",
    package: "expect",
    versions: ">=30.0.0",
    types: `declare module "expect" {\n  interface Matchers<R> extends ClusterMatchers {}\n}\n`,
  },
}

/** The files that bring the matchers into each runner, by their paths below `dist`. */
export function runnerFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const [name, { module, types, whenTestFails }] of Object.entries(RUNNERS)) {
    files.set(
      `matchers-${name}.js`,
      whenTestFails === undefined
        ? `import { expect } from "${module}"\nimport { matchers } from "./matchers.js"\n\nexpect.extend(matchers)\n`
        : `import { expect, ${whenTestFails} } from "${module}"\n` +
            `import { matchers, printReports } from "./matchers.js"\n\n` +
            `expect.extend(matchers)\nprintReports(${whenTestFails})\n`,
    )
    files.set(
      `types/matchers-${name}.d.ts`,
      `import "${module}"\nimport type { ClusterMatchers } from "./matchers.js"\n\n${types}`,
    )
  }
  return files
}
