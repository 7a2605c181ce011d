import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { addressText, parseAddress, type Network } from "../../../../pkg/apimachinery/addresses/cidr.ts"

/** The owner of an address. */
export interface AddressOwner {
  readonly containerId: string
  readonly interface: string
}

/**
 * The addresses of pods as files of one folder, in the format of the CNI plugin host-local, so that each plugin can
 * continue with the files of the other: a file for each address with the ids of container and interface, and one for
 * each range with the address that was given last. Source: containernetworking/plugins
 * plugins/ipam/host-local/backend/disk. No method awaits, and a file is created or already there: so no address is
 * given twice.
 */
export class PodAddresses {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * Gives the owner the next free address of each range. The first address of a range is the gateway's.
   * @throws Error with the range in which no address is free
   */
  allocate(ranges: readonly Network[], owner: AddressOwner): readonly string[] {
    mkdirSync(this.#folder, { recursive: true })
    const given: string[] = []
    try {
      for (const [i, range] of ranges.entries()) given.push(this.#next(range, `last_reserved_ip.${i}`, owner))
      return given
    } catch (err) {
      for (const address of given) this.release(address, owner)
      throw err
    }
  }

  #next(range: Network, lastFile: string, owner: AddressOwner): string {
    const [first, last] = usable(range)
    const before = parseAddress(this.#read(lastFile) ?? "")?.number ?? first - 1n
    const start = before >= first && before < last ? before + 1n : first
    for (let number = start, tried = 0n; tried <= last - first; tried++) {
      const address = addressText({ family: range.family, number })
      if (this.#take(address, owner)) {
        writeFileSync(join(this.#folder, lastFile), address)
        return address
      }
      number = number === last ? first : number + 1n
    }
    throw new Error(`no address is free in ${addressText({ ...range, number: range.first })}/${range.prefix}`)
  }

  #take(address: string, { containerId, interface: name }: AddressOwner): boolean {
    try {
      writeFileSync(join(this.#folder, address), `${containerId}\r\n${name}`, { flag: "wx" })
      return true
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === "EEXIST") return false
      throw err
    }
  }

  /** Frees an address. Does nothing if it has another owner now, which happens when two calls free it. */
  release(address: string, { containerId, interface: name }: AddressOwner): void {
    const owner = this.#ownerOf(address)
    if (owner.containerId === containerId && owner.interface === name)
      rmSync(join(this.#folder, address), { force: true })
  }

  /** Returns all addresses with their owners. */
  all(): ReadonlyMap<string, AddressOwner> {
    const owners = new Map<string, AddressOwner>()
    for (const name of entriesOf(this.#folder)) {
      if (parseAddress(name) === undefined) continue
      owners.set(name, this.#ownerOf(name))
    }
    return owners
  }

  of({ containerId, interface: name }: AddressOwner): readonly string[] {
    return [...this.all()].flatMap(([address, owner]) =>
      owner.containerId === containerId && owner.interface === name ? [address] : [],
    )
  }

  #ownerOf(address: string): AddressOwner {
    // Versions of host-local before 0.7 write no interface.
    const [containerId = "", name = "eth0"] = (this.#read(address) ?? "").split(/\r?\n/)
    return { containerId, interface: name }
  }

  #read(name: string): string | undefined {
    try {
      return readFileSync(join(this.#folder, name), "utf8").trim()
    } catch {
      return undefined // it was released in the meantime
    }
  }
}

/** The first and the last address for pods: neither the network's own, the gateway's nor the broadcast address. */
const usable = ({ family, first, last }: Network): readonly [bigint, bigint] => [
  first + 2n,
  family === "IPv4" ? last - 1n : last,
]

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
