import process from "node:process"

/** Makes `import … from "<name>"` of files that are loaded later give these exports, wherever the files lie. */
export function provideModule(name: string, exports: Readonly<Record<string, unknown>>): void {
  if (process.versions["bun"] === undefined) return
  Bun.plugin({
    name,
    setup(build) {
      build.module(name, () => ({ exports: { ...exports }, loader: "object" }))
    },
  })
}
