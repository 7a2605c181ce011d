import { fileURLToPath } from "node:url"
import { median, type Benchmark, type Figure } from "../figure.ts"

const ROUNDS = 5
const SECONDS = 2
const PROGRAM = fileURLToPath(new URL("dns-process.ts", import.meta.url))

/**
 * Answers per second about 1,000 Services over UDP, next to a server on the same runtime that only sends packets back.
 */
export const dns: Benchmark = {
  name: "dns",
  async *run() {
    const servers = { serve: await started("serve"), echo: await started("echo") }
    try {
      const rates: Record<keyof typeof servers, number[]> = { serve: [], echo: [] }
      await load(servers.serve.port)
      for (let i = 0; i < ROUNDS; i++)
        for (const each of ["serve", "echo"] as const) rates[each].push(await load(servers[each].port))
      yield figure(median(rates.serve), median(rates.echo))
    } finally {
      for (const { process } of Object.values(servers)) process.kill()
    }
  },
}

const figure = (value: number, echoed: number): Figure => ({
  name: "DNS answers, 1,000 Services",
  unit: "/s",
  value,
  goal: 50_000,
  limit: { what: "packets sent back by node:dgram", value: echoed },
  better: "more",
})

async function started(role: string) {
  const child = Bun.spawn([process.execPath, PROGRAM, role], { stdout: "pipe", stderr: "inherit" })
  const reader = child.stdout.getReader()
  const { value } = await reader.read()
  return { process: child, port: Number(new TextDecoder().decode(value)) }
}

async function load(port: number): Promise<number> {
  const child = Bun.spawn([process.execPath, PROGRAM, "load", `${port}`, `${SECONDS}`], {
    stdout: "pipe",
    stderr: "inherit",
  })
  return Number(await new Response(child.stdout).text())
}
