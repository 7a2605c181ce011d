import { quantityOf } from "../describe/resources.ts"
import { ceilDivide } from "../describe/rounding.ts"

type Amounts = Readonly<Record<string, string>> | undefined

/**
 * Returns the number that a container sees for one of its resources (`limits.cpu`), a missing one as 0; undefined for
 * what is no resource of containers. Source: ExtractContainerResourceValue in kubectl pkg/util/resource.
 */
export function containerResource(
  { resource, divisor }: { readonly resource: string; readonly divisor?: string | undefined },
  resources: { readonly limits?: Amounts; readonly requests?: Amounts } | undefined,
): string | undefined {
  const [, side, name = ""] = /^(limits|requests)\.(.*)$/s.exec(resource) ?? []
  if (side === undefined || !(STANDARD.has(name) || name.startsWith("hugepages-"))) return undefined
  const amount = quantityOf((side === "limits" ? resources?.limits : resources?.requests)?.[name]).nano
  const unit = quantityOf(divisor).nano || 1_000_000_000n
  // CPU is divided in thousandths, everything else in whole units.
  const step = name === "cpu" ? 1_000_000n : 1_000_000_000n
  const [count, by] = [ceilDivide(amount, step), ceilDivide(unit, step)]
  return String(Math.ceil(Number(count) / Number(by)))
}
const STANDARD: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage"])
