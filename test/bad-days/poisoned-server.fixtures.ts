import type { BunPlugin } from "bun"
import { join } from "node:path"

/** Where an object ends the process. */
interface Seam {
  readonly file: RegExp
  /** The text of the file, up to the end of its first line, after which the process ends. */
  readonly after: string
  /** Whether the object does, as an expression. */
  readonly poison: string
}

const named = (object: string) => `${object}.metadata.name === "poison"`
const SEAMS: readonly Seam[] = [
  {
    file: /controller-manager\/deployment\/deployment\.ts$/,
    after: "if (deployment === undefined) return\n",
    poison: "deployment.spec.replicas === 13",
  },
  {
    file: /apiserver\/apiextensions\/custom-resource\.ts$/,
    after: "const { versions, conversion } = definition.spec\n",
    poison: `definition.spec.group === "poison.example.com"`,
  },
  {
    file: /admission\/policies\/compiled-validations\.ts$/,
    after: "const { validations = [], auditAnnotations = [] } = policy.spec\n",
    poison: named("policy"),
  },
  {
    file: /kube-proxy\/service-ports\.ts$/,
    after: "const { spec, metadata, status } = service\n",
    poison: named("service"),
  },
  {
    file: /network-policy\/policy-rules\.ts$/,
    after: "const { policyTypes = [], ingress = [], egress = [] } = spec\n",
    poison: `metadata.name === "poison" && ingress.length > 0`,
  },
  {
    file: /ingress\/routing\/parse-ingress\.ts$/,
    after: "const { metadata, spec } = ingress\n  const [key, namespace]",
    poison: named("ingress"),
  },
  {
    file: /dns\/records\.ts$/,
    after: "if (more.length > 0) return undefined\n    if (service.spec",
    poison: named("service"),
  },
]

const poisoning: BunPlugin = {
  name: "poison",
  setup(build) {
    for (const { file, after, poison } of SEAMS)
      build.onLoad({ filter: file }, async ({ path }) => {
        const source = await Bun.file(path).text()
        const found = source.indexOf(after)
        if (found < 0) throw new Error(`${path} has no place for the poison`)
        const at = found + after.indexOf("\n") + 1
        const end = `if (${poison}) process.kill(process.pid, "SIGKILL")\n`
        return { loader: "ts", contents: source.slice(0, at) + end + source.slice(at) }
      })
  },
}

/**
 * Compiles a k3ts that some objects end: Deployments of 13 replicas, and others that have "poison" as their name or,
 * for definitions, in their group. It starts much faster than one from source.
 */
export async function buildPoisoned(outfile: string): Promise<void> {
  await Bun.build({
    entrypoints: [join(import.meta.dirname, "../../cmd/k3ts/main.ts")],
    target: "bun",
    splitting: true,
    minify: true,
    plugins: [poisoning],
    compile: { outfile },
  })
}
