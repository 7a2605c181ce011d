/** The protocol that a request for a tunnel asks for. What is spoken on it is in tunnels.ts. */
export const TUNNEL_PROTOCOL = "k3ts-tunnel"
