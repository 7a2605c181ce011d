import { joinHostPort } from "../../pkg/apimachinery/addresses/cidr.ts"

/** Where an etcd listens. Source of the usual numbers: k3s pkg/etcd/etcd.go. */
export interface EtcdPorts {
  readonly client: number
  readonly peer: number
  /** Health and metrics, on the loopback address without TLS. */
  readonly metrics: number
}
export const ETCD_PORTS: EtcdPorts = { client: 2379, peer: 2380, metrics: 2381 }

export interface EtcdConfig {
  /** `<data-dir>/server/db/etcd` */
  readonly folder: string
  /** `<data-dir>/server/tls/etcd` */
  readonly tlsFolder: string
  readonly nodeName: string
  /** The address at which other members reach this one. */
  readonly address: string
  readonly ports: EtcdPorts
}

export const clientUrl = ({ address, ports }: Pick<EtcdConfig, "address" | "ports">): string =>
  `https://${joinHostPort(address, ports.client)}`
export const peerUrl = ({ address, ports }: Pick<EtcdConfig, "address" | "ports">): string =>
  `https://${joinHostPort(address, ports.peer)}`
/** How programs of this machine reach its member, whatever its address is. */
export const localUrl = ({ ports }: Pick<EtcdConfig, "ports">): string => `https://127.0.0.1:${ports.client}`
