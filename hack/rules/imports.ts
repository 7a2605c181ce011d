/**
 * Who may import whom (docs/architecture.md): `cmd` → `components/cluster` → the other components → `pkg`, never back;
 * components meet only in the API; only the API server touches the store, which components/cluster may pass to it; in
 * `pkg`, the foundation lies below the API's kinds, those below the client, that below the controller library; and in a
 * component no folder imports itself by way of others.
 */
import { posix } from "node:path"
import { ImportGraph } from "./circles.ts"
import { importsOf, isTest, type SourceFile, type Violation } from "./source.ts"

/**
 * What the folders of pkg/ above the foundation may import beside the foundation, which is every folder that is not
 * named here (apimachinery, clock, log, oci …).
 */
const ABOVE_FOUNDATION: Readonly<Record<string, readonly string[]>> = {
  api: [],
  storage: [],
  client: ["api"],
  pods: ["api"],
  provisioner: ["api", "controller"],
  quota: ["api"],
  "scheduler-plugin": ["api"],
  component: ["api", "client"],
  controller: ["api", "client", "component"],
  operator: ["api", "client", "component", "controller"],
  "gateway-api": ["operator"],
  "k3s-kinds": ["operator"],
  why: ["api", "pods"],
  kubectl: ["api", "why"],
}

/** The composition root: it puts the components together, so it may import all of them. */
const COMPOSITION = "cluster"

/**
 * Every import that the rules forbid, and every circle among the folders of the foundation, and among those of a
 * component.
 */
export function importViolations(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  const [foundation, components] = [new ImportGraph(), new ImportGraph()]

  for (const file of files) {
    const { path } = file
    for (const { specifier, line } of importsOf(file)) {
      const forbidden = specifier.startsWith(".") ? judge(path, specifier) : undefined
      if (forbidden !== undefined) violations.push({ path, line, ...forbidden })
      if (!specifier.startsWith(".") || isTest(path)) continue
      const target = resolve(path, specifier)
      const [from, to] = [foundationOf(path), foundationOf(target)]
      if (from !== undefined && to !== undefined && from !== to)
        foundation.add(`pkg/${from}`, `pkg/${to}`, { path, line })
      const [part, otherPart] = [partOf(path), partOf(target)]
      if (part !== undefined && otherPart !== undefined && part !== otherPart)
        components.add(part, otherPart, { path, line })
    }
  }
  return [...violations, ...foundation.circles(MEND_CIRCLE), ...components.circles(MEND_CIRCLE)]
}

const MEND_CIRCLE = "move what both need into the lower folder, or into one of its own"

const resolve = (path: string, specifier: string): string => posix.join(posix.dirname(path), specifier)

/** The name of the folder under pkg/ if it belongs to the foundation. */
function foundationOf(path: string): string | undefined {
  const [room, name] = path.split("/")
  return room === "pkg" && name !== undefined && !(name in ABOVE_FOUNDATION) ? name : undefined
}

/** The folder of a component that a file is in, `components/kubelet/pod`; a file in none is a part by itself. */
function partOf(path: string): string | undefined {
  const parts = path.split("/")
  return parts[0] === "components" && parts.length > 2 ? parts.slice(0, 3).join("/") : undefined
}

function judge(path: string, specifier: string): { message: string; mend: string } | undefined {
  const target = resolve(path, specifier)
  const [room, name = ""] = path.split("/")
  const [toRoom, toName = ""] = target.split("/")
  const message = `${isTest(path) ? "a test of " : ""}${room}/${name} imports ${target}`

  if (posix.extname(target) === "")
    return { message: `${path} imports "${specifier}" without an extension`, mend: `write "${specifier}.ts"` }
  if (room === "cmd" || room === "hack" || room === "test") return undefined
  if (isTest(target) && !isTest(path))
    return { message, mend: "only tests use what belongs to tests: move what is shared to a file of its own" }
  if (toRoom === "hack" || toRoom === "test") {
    return isTest(path)
      ? undefined
      : { message, mend: "the program must not depend on its tooling: move what is shared to pkg/" }
  }
  if (toRoom === "cmd")
    return {
      message,
      mend: "cmd imports components and pkg, never the other way: pass it in the context or the config",
    }
  if (room === "components" && name === COMPOSITION) return undefined
  if (toRoom === "components" && toName === COMPOSITION && isTest(path)) return undefined
  if (room === "pkg" && toRoom === "components")
    return { message, mend: "components import pkg, never the other way: move what is shared to pkg/" }
  if (room === "components" && toRoom === "components" && name !== toName) {
    return {
      message,
      mend: "components meet only in the API: read or write an object there, or move what is shared to pkg/",
    }
  }
  if (toRoom === "pkg" && toName === "storage" && room === "components" && name !== "apiserver") {
    return { message, mend: "only the API server touches the store: use the client and the informers of the context" }
  }
  if (room === "pkg" && toRoom === "pkg" && name !== toName && toName in ABOVE_FOUNDATION && !isTest(path)) {
    const allowed = ABOVE_FOUNDATION[name] ?? []
    if (!allowed.includes(toName)) {
      const may = ["the foundation", ...allowed.map((folder) => `pkg/${folder}`)].join(", ")
      return { message, mend: `pkg/${name} may import only ${may}: move the shared part down, or this file up` }
    }
  }
  return undefined
}
