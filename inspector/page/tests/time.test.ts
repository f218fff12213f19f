import { describe, expect, it } from 'vitest';
import { timeScale } from '../src/time/scale';
import { ticks } from '../src/time/ticks';
import { age, duration } from '../src/ui/duration';
import { random } from './graphs';

describe('time scale', () => {
  it('is linear if nothing waits', () => {
    const scale = timeScale([0, 1000, 4000], 10_000);
    expect([0, 2500, 5000, 10_000].map(scale.at)).toEqual([0, 0.25, 0.5, 1]);
    expect(scale.gaps).toEqual([]);
  });

  it('shrinks a wait to a strip', () => {
    const scale = timeScale([0, 10_000, 7_210_000, 7_220_000], 7_220_000);
    expect(scale.gaps).toEqual([{ from: 10_000, to: 7_210_000 }]);
    expect(scale.at(10_000)).toBeCloseTo(0.44);
    expect(scale.at(7_210_000)).toBeCloseTo(0.56);
    expect(scale.at(7_220_000)).toBeCloseTo(1);
  });

  it('counts the time since the last event of a run that waits', () => {
    expect(timeScale([0, 5000], 3_600_000).gaps).toEqual([{ from: 5000, to: 3_600_000 }]);
  });

  it('gives a run that only waits the whole axis', () => {
    const scale = timeScale([0], 60_000);
    expect([scale.at(0), scale.at(30_000), scale.at(60_000)]).toEqual([0, 0.5, 1]);
  });

  it('stays within the axis for a run of one moment', () => {
    const scale = timeScale([5], 5);
    expect(scale.at(5)).toBe(0);
    expect(ticks(scale, 800)).toEqual([{ at: 0, text: '0' }]);
  });

  it('never runs back, whatever the times', () => {
    for (let seed = 0; seed < 200; seed++) {
      const next = random(seed);
      const times = [0];
      for (let i = 0; i < 60; i++) times.push(times.at(-1)! + Math.floor(next() ** 6 * 100_000));
      const scale = timeScale(times, times.at(-1)!);
      const at = times.map(scale.at);
      expect(at.every((u, i) => u >= 0 && u <= 1 + 1e-9 && (i === 0 || u >= at[i - 1]!))).toBe(true);
      expect(at.at(-1)).toBeCloseTo(1);
    }
  });

  it('treats a clock that runs back as standing still', () => {
    const scale = timeScale([1000, 30_000, 29_000, 31_000], 31_000);
    expect(scale.gaps).toEqual([{ from: 1000, to: 30_000 }]);
  });
});

describe('ticks', () => {
  it('lie at least so far apart that their texts do not touch', () => {
    const scale = timeScale([0, 12_000], 12_000);
    const at = ticks(scale, 800).map((t) => t.at * 800);
    expect(at.length).toBeGreaterThan(4);
    expect(at.every((x, i) => i === 0 || x - at[i - 1]! >= 90 - 1e-9)).toBe(true);
  });

  it('count anew behind a gap', () => {
    const scale = timeScale([0, 10_000, 7_210_000, 7_220_000], 7_220_000);
    expect(ticks(scale, 1200).some((t) => t.text === '+4 s')).toBe(true);
  });
});

describe('durations', () => {
  it('have two units at most', () => {
    expect([0, 999, 1400, 59_999, 432_000, 8_040_000, 273_600_000].map(duration)).toEqual(['0 ms', '999 ms', '1.4 s', '59.9 s', '7 min 12 s', '2 h 14 min', '3 d 4 h']);
  });

  it('as an age have one', () => {
    expect([5400, 2_820_000, 11_000_000, 1e9].map(age)).toEqual(['5 s', '47 min', '3 h', '11 d']);
  });
});
