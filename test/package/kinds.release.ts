import { expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { publicKinds } from "../../hack/package/types.ts"
import { packArchive, root, TSC } from "./project.ts"

/**
 * Fields that have another type in the sources on purpose: there, the text of a revision's data is kept, and the
 * schemas in a definition, which contain each other, are a type of their own.
 */
const OTHER_FIELDS: Readonly<Record<string, string>> = {
  ControllerRevision: `"data"`,
  CustomResourceDefinition: `"spec"`,
}

test("the generated types of each kind are those that the sources infer", () => {
  // given a program that compares both, field by field
  packArchive()
  const names = [...publicKinds().keys()]
  const omitted = (name: string) => OTHER_FIELDS[name] ?? "never"
  const program = `
    import type * as source from "../../components/cluster/testing/testing.ts"
    import type { InputOfResource } from "../../pkg/apimachinery/resource.ts"
    import type * as written from "../npm/package/dist/types/kinds.d.ts"
    type Fields<T, Without> = { [K in keyof T as K extends Without ? never : K]: T[K] }
    type Is<T> = <X>() => X extends T ? 1 : 2
    type Same<A, B, W> = Is<Fields<A, W>> extends Is<Fields<B, W>> ? true : false
    export const same: {
      ${names
        .map(
          (name) =>
            `${name}: [Same<source.${name}, written.${name}, ${omitted(name)}>, ` +
            `Same<InputOfResource<typeof source.${name}>, written.${name}Input, ${omitted(name)}>]`,
        )
        .join("\n")}
    } = { ${names.map((name) => `${name}: [true, true]`).join(", ")} }
    // @ts-expect-error other kinds are told apart
    export const differs: Same<source.Pod, written.Node, never> = true
  `
  const folder = join(root, "dist/compare-kinds")
  mkdirSync(folder, { recursive: true })
  try {
    writeFileSync(join(folder, "same.ts"), program)
    writeFileSync(join(folder, "tsconfig.json"), `{ "extends": "../../tsconfig.json", "include": ["same.ts"] }`)
    // when, then
    const { status, stdout } = spawnSync(process.execPath, [TSC, "-p", folder], { encoding: "utf8" })
    expect(stdout).toBe("")
    expect(status).toBe(0)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
