/** `k3ts server`, of which one controller ends the process by some Deployments: those that have 13 replicas. */
import { plugin } from "bun"

const FOUND = "if (deployment === undefined) return\n"
const POISON = `if (deployment.spec.replicas === 13) process.kill(process.pid, "SIGKILL")\n`

plugin({
  name: "poison",
  setup(build) {
    build.onLoad({ filter: /controller-manager\/deployment\/deployment\.ts$/ }, async ({ path }) => {
      const source = await Bun.file(path).text()
      if (!source.includes(FOUND)) throw new Error(`${path} has no place for the poison`)
      return { loader: "ts", contents: source.replace(FOUND, FOUND + POISON) }
    })
  },
})
await import("../../cmd/k3ts/main.ts")
