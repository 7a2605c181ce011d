import { describe, expect, test } from "bun:test"
import type { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { compile, IngressCompiler } from "./compile.ts"
import { serviceOf } from "./target.ts"

const to = (name: string) => ({ service: { name, port: { number: 80 } } })
const rule = (host: string | undefined, ...paths: readonly (readonly [string, string])[]) => ({
  ...(host === undefined ? {} : { host }),
  http: { paths: paths.map(([path, service]) => ({ path, pathType: "Prefix", backend: to(service) })) },
})
/** Returns an Ingress that was created `age` seconds after a fixed time: the smaller the age, the older the Ingress. */
const ingress = (key: string, age: number, spec: object): Ingress => {
  const [namespace, name] = key.split("/")
  const creationTimestamp = new Date(age * 1000).toISOString()
  return { metadata: { namespace, name, creationTimestamp }, spec, status: { loadBalancer: {} } } as unknown as Ingress
}

/** Returns the backend of each URL, as `<ingress> → <service>`, and the reported problems. */
function compiled(ingresses: readonly Ingress[], urls: readonly string[]) {
  const { table, problems } = compile(ingresses)
  const served = urls.map((url) => {
    const slash = url.indexOf("/")
    const found = table.find(url.slice(0, slash), url.slice(slash))
    return found === undefined ? undefined : `${found.target.owner.key} → ${serviceOf(found.target.backends[0])}`
  })
  return {
    served,
    told: problems.map(({ ingress: { metadata }, message }) => `${metadata.namespace}/${metadata.name}: ${message}`),
  }
}

describe("of several Ingresses", () => {
  test("those of one namespace share a host, and the older Ingress gets a path that both have", () => {
    const older = ingress("a/older", 1, { rules: [rule("x", ["/", "one"], ["/p", "one"])] })
    const newer = ingress("a/newer", 2, { rules: [rule("x", ["/p", "two"], ["/q", "two"])] })
    expect(compiled([newer, older], ["x/", "x/p", "x/q"])).toEqual({
      served: ["a/older → one", "a/older → one", "a/newer → two"],
      told: ['a/newer: host "x" has the path /p already from the older Ingress a/older'],
    })
  })

  test("of the same age, the first by name wins", () => {
    const ingresses = ["b/one", "a/two", "a/one"].map((key) =>
      ingress(key, 1, { rules: [rule("x", ["/", key.replace("/", "-")])] }),
    )
    expect(compiled(ingresses, ["x/"]).served).toEqual(["a/one → a-one"])
  })

  test("the namespace of the oldest one gets a host with all its paths", () => {
    const owner = ingress("a/web", 1, { rules: [rule("x", ["/only", "web"])] })
    const thief = ingress("b/web", 2, { rules: [rule("x", ["/", "evil"]), rule("y", ["/", "fine"])] })
    expect(compiled([thief, owner], ["x/only", "x/", "y/"])).toEqual({
      served: ["a/web → web", undefined, "b/web → fine"],
      told: ['b/web: host "x" belongs to an older Ingress in namespace a: rule 0 is left out'],
    })
  })

  test("the owner of an older wildcard is told which hosts go to Ingresses of other namespaces", () => {
    const wildcard = ingress("a/all", 1, { rules: [rule("*.x.example", ["/", "all"])] })
    const own = ingress("a/own", 2, { rules: [rule("own.x.example", ["/", "own"])] })
    const others = ["b", "c", "d", "e"].map((name, i) =>
      ingress(`${name}/one`, 3 + i, { rules: [rule(`${name}.x.example`, ["/", name])] }),
    )
    const older = ingress("f/older", 0, { rules: [rule("f.x.example", ["/", "older"])] })
    expect(compiled([wildcard, own, ...others, older], ["b.x.example/", "z.x.example/", "f.x.example/"])).toEqual({
      served: ["b/one → b", "a/all → all", "f/older → older"],
      told: [
        'a/all: host "*.x.example" does not get the requests for "b.x.example" (namespace b), "c.x.example" (namespace ' +
          'c), "d.x.example" (namespace d) and 1 more: newer Ingresses name these hosts exactly',
      ],
    })
  })

  test("each host belongs to one namespace only", () => {
    const first = ingress("a/web", 1, { defaultBackend: to("first") })
    const second = ingress("b/web", 2, { defaultBackend: to("second") })
    const third = ingress("c/web", 3, { rules: [rule(undefined, ["/", "third"])] })
    expect(compiled([third, second, first], ["any/"])).toEqual({
      served: ["a/web → first"],
      told: [
        "b/web: every host without a rule belongs to an older Ingress in namespace a: the default backend is left out",
        "c/web: every host without a rule belongs to an older Ingress in namespace a: rule 0 is left out",
      ],
    })
  })

  test("a default backend gets paths of its hosts that match no rule, and hosts that no Ingress has", () => {
    const web = ingress("a/web", 2, { defaultBackend: to("rest"), rules: [rule("x", ["/p", "web"]), { host: "bare" }] })
    expect(compiled([web], ["x/p", "x/q", "bare/", "any/"]).served).toEqual([
      "a/web → web",
      "a/web → rest",
      "a/web → rest",
      "a/web → rest",
    ])
    const catchAll = ingress("b/all", 3, { defaultBackend: to("all") })
    expect(compiled([web, catchAll], ["x/q", "any/"]).served).toEqual(["a/web → rest", "b/all → all"])
  })
})

describe("Ingresses that are compiled again", () => {
  test("give the same routes and problems as at the first time, whatever has changed", () => {
    // given
    const random = seededRandom(3)
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)]!
    const compiler = new IngressCompiler()
    const all = new Map<string, Ingress>()
    const HOSTS = ["x.example", "y.example", "*.example", undefined]
    const urls = ["x.example/", "x.example/p", "y.example/p/q", "z.example/p", "other/p"]
    const shown = ({ table, problems, owners }: ReturnType<typeof compile>) => ({
      served: urls.map((url) => {
        const found = table.find(url.slice(0, url.indexOf("/")), url.slice(url.indexOf("/")))
        return found && [found.host, found.target.owner.key, serviceOf(found.target.backends[0])]
      }),
      told: problems
        .map(({ ingress: of, message }) => `${of.metadata.namespace}/${of.metadata.name}: ${message}`)
        .sort(),
      owners: [...owners].map(([host, { namespace, since }]) => `${host} ${namespace} ${since}`).sort(),
    })
    for (let i = 0; i < 200; i++) {
      // when one is written or deleted
      const key = `${pick(["a", "b"])}/${pick(["1", "2", "3"])}`
      if (random.next() < 0.3) all.delete(key)
      else
        all.set(
          key,
          ingress(key, Math.floor(random.next() * 5), {
            ...(random.next() < 0.4 ? { defaultBackend: to(`default-${i}`) } : {}),
            rules: Array.from({ length: Math.floor(random.next() * 3) }, (_, j) =>
              rule(pick(HOSTS), [pick(["/", "/p", "/p/q"]), `s${i}-${j}`]),
            ),
          }),
        )
      // then
      expect(shown(compiler.compile([...all.values()]))).toEqual(shown(compile([...all.values()])))
    }
  })

  test("are worked out anew only for hosts whose Ingresses have changed", () => {
    // given
    const many = Array.from({ length: 100 }, (_, i) => ingress(`a/${i}`, i, { rules: [rule(`h${i}`, ["/", `s${i}`])] }))
    const compiler = new IngressCompiler()
    const before = compiler.compile(many).table
    // when one changes
    const changed = many.with(7, ingress("a/7", 7, { rules: [rule("h7", ["/", "other"])] }))
    const after = compiler.compile(changed).table
    // then all other targets are the same values
    const same = many.filter((_, i) => before.find(`h${i}`, "/")!.target === after.find(`h${i}`, "/")!.target)
    expect(same).toHaveLength(99)
  })
})
