import { readFile, writeFile } from "node:fs/promises"
import { join, relative, resolve } from "node:path"
import { build, type BunPlugin } from "bun"
import { ENTRIES, THREADS } from "./entries.ts"
import { librariesOf } from "./libraries.ts"

/** What `k3ts version` of the package tells, by the constants of pkg/version/version.ts. */
export interface Identity {
  readonly version: string
  readonly commit: string
  readonly treeState: string
  /** RFC 3339. */
  readonly date: string
}

/** The commands that the package has stand in the place of those of the executable. */
const fewerCommands: BunPlugin = {
  name: "commands of the package",
  setup(builder) {
    // kubectl has a file of this name too.
    builder.onResolve({ filter: /\/commands\/commands\.ts$/ }, ({ importer }) =>
      importer.includes("/cmd/k3ts/") ? { path: join(importer, "../commands/package-commands.ts") } : undefined,
    )
  },
}

/**
 * Writes the JavaScript of the package into `folder`, with source maps: a file for each way in, one for the command
 * line, and what they share. All libraries are in it: so it loads in half the time that 700 modules take, and installs
 * without others. Not minified, so that stack traces can be read without the source maps too. Returns the folders of
 * the libraries.
 */
export async function bundle(root: string, folder: string, identity: Identity): Promise<readonly string[]> {
  const { outputs, metafile } = await build({
    entrypoints: [...Object.values(ENTRIES), ...THREADS, "cmd/k3ts/main.ts"].map((path) => join(root, path)),
    root,
    outdir: folder,
    naming: { entry: "[name].js", chunk: "[name]-[hash].js" },
    target: "node",
    format: "esm",
    splitting: true,
    sourcemap: "linked",
    metafile: true,
    plugins: [fewerCommands],
    define: {
      // Else Bun writes the folder of this checkout, as hack/compile.sh tells.
      __dirname: '"/"',
      K3TS_VERSION: JSON.stringify(identity.version),
      K3TS_GIT_COMMIT: JSON.stringify(identity.commit),
      K3TS_GIT_TREE_STATE: JSON.stringify(identity.treeState),
      K3TS_BUILD_DATE: JSON.stringify(identity.date),
    },
  })
  for (const { path } of outputs) if (path.endsWith(".map")) await nameSources(root, folder, path)
  return librariesOf(Object.keys(metafile?.inputs ?? {}))
}

/**
 * Names the sources in a source map by their places in our repository, not by those on this machine. Their texts are in
 * the map.
 */
async function nameSources(root: string, folder: string, path: string): Promise<void> {
  const map = JSON.parse(await readFile(path, "utf8")) as { sources: string[] }
  map.sources = map.sources.map((source) => `../${relative(root, resolve(folder, source))}`)
  await writeFile(path, JSON.stringify(map))
}
