import type { Random } from "../../../../pkg/clock/random.ts"
import { pick } from "../../chance.ts"
import type { Place, ThreeServers } from "../../../harness/three-servers.ts"

/** A fault that lasts until `end`. */
export interface LastingFault {
  readonly what: string
  end(): Promise<void> | void
}

/** Begins faults at random: one between the machines at a time, and one in each of them. */
export class Faults {
  readonly #cluster: ThreeServers
  readonly #random: Random
  readonly #troubled = new Set<Place>()
  #isCut = false
  #lasting: LastingFault[] = []
  /** What has happened, in order. */
  readonly told: string[] = []

  constructor(cluster: ThreeServers, random: Random) {
    this.#cluster = cluster
    this.#random = random
  }

  /** How many last. */
  get lasting(): number {
    return this.#lasting.length
  }

  /** Begins one, unless all that can be wrong is wrong already. */
  async begin(): Promise<void> {
    const whole = this.#cluster.places.filter((place) => !this.#troubled.has(place))
    const ways = [...(this.#isCut ? [] : [() => this.#cut()]), ...whole.map((place) => () => this.#trouble(place))]
    if (ways.length === 0) return
    const fault = await pick(this.#random, ways)()
    this.told.push(fault.what)
    this.#lasting.push(fault)
  }

  /** Ends one of them at random. */
  async endOne(): Promise<void> {
    const fault = pick(this.#random, this.#lasting)
    this.#lasting = this.#lasting.filter((other) => other !== fault)
    this.told.push(`no longer: ${fault.what}`)
    await fault.end()
  }

  async endAll(): Promise<void> {
    while (this.#lasting.length > 0) await this.endOne()
  }

  async #cut(): Promise<LastingFault> {
    const { machines, places } = this.#cluster
    const [a, b, c] = places as [Place, Place, Place]
    const [what, pairs] = pick<readonly [string, readonly (readonly [Place, Place])[]]>(this.#random, [
      ...places.map((place) => {
        const others = places.filter((other) => other !== place)
        return [`${place.machine.name} is cut off`, others.map((other) => [place, other] as const)] as const
      }),
      ["the first two are cut from each other", [[a, b]]],
      ["the last two are cut from each other", [[b, c]]],
      [
        "all are cut from each other",
        [
          [a, b],
          [b, c],
          [a, c],
        ],
      ],
    ])
    this.#isCut = true
    for (const [one, two] of pairs) await machines.cut(one.machine, two.machine)
    return {
      what,
      end: () => {
        this.#isCut = false
        return machines.heal()
      },
    }
  }

  async #trouble(place: Place): Promise<LastingFault> {
    const { machine, server, etcd } = place
    this.#troubled.add(place)
    const kinds: readonly (() => Promise<LastingFault> | LastingFault)[] = [
      async () => {
        await server.kill()
        return { what: `the server of ${machine.name} is killed`, end: () => server.start() }
      },
      async () => {
        await etcd.kill()
        return { what: `the etcd of ${machine.name} is killed`, end: () => etcd.start() }
      },
      () => {
        server.hang()
        return { what: `the server of ${machine.name} hangs`, end: () => server.goOn() }
      },
      () => {
        etcd.hang()
        return { what: `the etcd of ${machine.name} hangs`, end: () => etcd.goOn() }
      },
      async () => {
        await Promise.all([server.kill(), etcd.kill()])
        await machine.powerOff()
        return {
          what: `${machine.name} is without power`,
          async end() {
            await machine.powerOn()
            etcd.start()
            server.start()
          },
        }
      },
    ]
    const { what, end } = await pick(this.#random, kinds)()
    return {
      what,
      end: () => {
        this.#troubled.delete(place)
        return end()
      },
    }
  }
}
