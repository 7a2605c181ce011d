import { startServer, type TestServer } from "../../harness/server.ts"
import { median } from "../figure.ts"
import { cpuClock } from "./cpu-time.ts"
import { OPERATIONS, type Operation } from "./operations.ts"

/**
 * `npm run bench -- compare A B [ROUNDS] [WORD…]`: two executables side by side; of the figures all, or those whose
 * names have one of the words. Both servers run at once, and each does a slice of the same work in turn, so what else
 * the machine does meets both. Processor time is what counts: other work changes it less than rates, and mostly adds to
 * it, so the best of all rounds says more the busier the machine is.
 */
const [a, b, ...words] = process.argv.slice(2)
if (a === undefined || b === undefined) {
  console.error("Two executables are needed: npm run bench -- compare A B [ROUNDS] [WORD…]")
  process.exit(2)
}
const EXECUTABLES = [a, b]
const ROUNDS = Number(words.find((word) => /^\d+$/.test(word)) ?? 10)
const asked = words.filter((word) => !/^\d+$/.test(word))
const isAsked = (name: string): boolean => asked.length === 0 || asked.some((word) => name.includes(word))
/** A server runs its code slowly, and its compiler beside it, until it has seen so many requests. */
const WARM_UP_REQUESTS = 12_000
const IDLE_MS = 5000

/** What a round measures of one executable, by the figure's name. */
type Measured = Readonly<Record<string, number>>

console.log(
  `${ROUNDS} rounds\nA ${a}\nB ${b}\n\n${row("", "median A", "median B", "B / A", "best A", "best B", "B / A")}`,
)
if (isAsked("start")) show(await alternated(async (side) => measureStart(EXECUTABLES[side]!)))
else if (!OPERATIONS.some(({ name }) => isAsked(name))) {
  console.error(
    `No figure has one of these words: ${asked.join(", ")}. There are start, ${OPERATIONS.map(({ name }) => name).join(", ")}.`,
  )
  process.exit(2)
}
const operations = OPERATIONS.filter(({ name }) => isAsked(name))
if (operations.length > 0) {
  const servers = await Promise.all(EXECUTABLES.map((path) => startServer({ program: [path] })))
  for (const server of servers) await hasAccounts(server)
  for (const operation of operations) await compare(operation, servers)
  show([servers.map((server) => ({ "memory after all this, MB": server.residentMb() }))])
  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
}

async function compare({ name, slice, begin }: Operation, servers: readonly TestServer[]): Promise<void> {
  const begun = await Promise.all(servers.map(begin))
  for (let done = 0; done < WARM_UP_REQUESTS; done += slice) for (const work of begun) await work.run(slice)
  const clocks = servers.map(({ pid }) => cpuClock(pid))
  const measured = await alternated(async (side) => {
    clocks[side]!()
    const at = performance.now()
    await begun[side]!.run(slice)
    const ms = performance.now() - at
    return { [`${name}, µs of CPU`]: clocks[side]!() / slice, [`${name}, /s`]: (slice * 1000) / ms }
  })
  for (const work of begun) work.end()
  show(measured)
}

async function measureStart(path: string): Promise<Measured> {
  await using server = await startServer({ program: [path] })
  const cpu = cpuClock(server.pid)()
  await Bun.sleep(IDLE_MS)
  return {
    "start to /readyz, ms": server.readyAfter * 1000,
    "start, ms of CPU": cpu / 1000,
    [`memory ${IDLE_MS / 1000} s after the start, MB`]: server.residentMb(),
  }
}

/** Measures A and B in each round, the first in turn: what slows the machine down over time slows both. */
async function alternated(measure: (side: 0 | 1) => Promise<Measured>): Promise<Measured[][]> {
  const rounds: Measured[][] = []
  for (let i = 0; i < ROUNDS; i++) {
    const [first, second] = i % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)
    const round: Measured[] = []
    round[first] = await measure(first)
    round[second] = await measure(second)
    rounds.push(round)
  }
  return rounds
}

function show(rounds: readonly (readonly Measured[])[]): void {
  for (const name of Object.keys(rounds[0]![0]!)) {
    const [ofA, ofB] = [0, 1].map((side) => rounds.map((round) => round[side]![name]!)) as [number[], number[]]
    const medians = [median(ofA), median(ofB)] as const
    const best = name.endsWith("/s") ? Math.max : Math.min
    console.log(row(name, ...compared(...medians), ...compared(best(...ofA), best(...ofB))))
  }
}

function compared(ofA: number, ofB: number): string[] {
  return [...[ofA, ofB].map((value) => value.toFixed(value < 100 ? 1 : 0)), (ofB / ofA).toFixed(2)]
}

function row(name: string, ...cells: readonly string[]): string {
  return name.padEnd(42) + cells.map((cell) => cell.padStart(9)).join("")
}

/** Pods can be made when the controllers have made the namespace's account. */
async function hasAccounts(server: TestServer): Promise<void> {
  while ((await server.get("/api/v1/namespaces/default/serviceaccounts/default")).status !== 200) await Bun.sleep(20)
}
