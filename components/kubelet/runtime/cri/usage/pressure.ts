import type { Pressure, PressureStall, ResourcePressure } from "../../usage.ts"
import { readKernelFile } from "./kernel-files.ts"

/**
 * Reads how long tasks waited for resources, from one file a resource; undefined on kernels without that. Source:
 * Documentation/accounting/psi.rst.
 */
export async function readPressure(fileOf: (resource: string) => string): Promise<Pressure | undefined> {
  const [cpu, memory, io] = await Promise.all(
    ["cpu", "memory", "io"].map(async (resource) => parse(await readKernelFile(fileOf(resource)))),
  )
  return cpu === undefined && memory === undefined && io === undefined ? undefined : { cpu, memory, io }
}

/** A kernel before 5.13 has no line `full` for the processor, where it would be 0. */
function parse(text: string): ResourcePressure | undefined {
  const some = stall(text, "some")
  return some === undefined ? undefined : { some, full: stall(text, "full") ?? NONE }
}

const NONE: PressureStall = { avg10: 0, avg60: 0, avg300: 0, totalMicroseconds: 0 }

function stall(text: string, kind: "some" | "full"): PressureStall | undefined {
  const found = new RegExp(`^${kind} avg10=([\\d.]+) avg60=([\\d.]+) avg300=([\\d.]+) total=(\\d+)$`, "m").exec(text)
  if (found === null) return undefined
  const [avg10, avg60, avg300, totalMicroseconds] = found.slice(1).map(Number)
  return { avg10: avg10!, avg60: avg60!, avg300: avg300!, totalMicroseconds: totalMicroseconds! }
}
