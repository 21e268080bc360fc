"""Random annotations and results in COCO's format, with all that its rules are about: crowds, pictures without objects,
classes without objects, equal scores, detections that are exact copies, objects of every size, and more detections in a
picture than count. Standard library only.
"""

import math
import random


class SetMaker:
    def __init__(self, seed, pictures, categories, objects=6, side=(60, 320), detections=1.6, step=0.05):
        """`objects`: at most in a picture; `detections`: for each object; `step`: scores are multiples of it."""
        self.random = random.Random(seed)
        self.pictures, self.categories, self.objects = pictures, categories, objects
        self.side, self.detections, self.step = side, detections, step

    def polygon(self, height, width):
        pick = self.random
        radius = min(height, width) * pick.choice((0.03, 0.08, 0.2, 0.45, 0.7)) * pick.uniform(0.5, 1)
        x, y = pick.uniform(0, width), pick.uniform(0, height)
        corners = pick.randint(3, 14)
        points = []
        for i in range(corners):
            far = radius * pick.uniform(0.5, 1)
            angle = 2 * math.pi * (i + pick.uniform(0, 0.6)) / corners
            points += [x + far * math.cos(angle), y + far * math.sin(angle)]
        # Corners of real annotations lie in the picture, to hundredths of a pixel.
        return [round(min(max(value, 0), width if i % 2 == 0 else height), 2) for i, value in enumerate(points)]

    def moved(self, polygon, amount, height, width):
        pick = self.random
        dx, dy = pick.gauss(0, amount), pick.gauss(0, amount)
        return [round(min(max(value + (dx if i % 2 == 0 else dy) + pick.gauss(0, amount / 3), 0),
                          width if i % 2 == 0 else height), 2) for i, value in enumerate(polygon)]

    @staticmethod
    def box(polygon):
        xs, ys = polygon[0::2], polygon[1::2]
        return [min(xs), min(ys), round(max(xs) - min(xs), 2), round(max(ys) - min(ys), 2)]

    @staticmethod
    def area(polygon):
        xs, ys = polygon[0::2], polygon[1::2]
        return abs(sum(xs[i - 1] * ys[i] - xs[i] * ys[i - 1] for i in range(len(xs)))) / 2

    def runs(self, height, width):
        """Of a crowd, uncompressed: a block of columns with holes."""
        pick = self.random
        left, right = sorted(pick.sample(range(width + 1), 2))
        top, bottom = sorted(pick.sample(range(height + 1), 2))
        counts, last = [], 0
        for x in range(left, right):
            if pick.random() < 0.1:
                continue
            counts += [x * height + top - last, bottom - top]
            last = x * height + bottom
        counts.append(height * width - last)
        if bottom - top == height:  # neighbouring columns are one run
            merged = counts[:2]
            for outside, inside in zip(counts[2:-1:2], counts[3::2]):
                if outside == 0:
                    merged[-1] += inside
                else:
                    merged += [outside, inside]
            counts = merged + counts[-1:]
        if counts[-1] == 0 and len(counts) > 1:
            counts.pop()
        return {"size": [height, width], "counts": counts}, [left, top, right - left, bottom - top]

    def make(self):
        """-> instances, results with a box and a polygon each"""
        pick = self.random
        images, annotations, results = [], [], []
        ids = sorted(pick.sample(range(1, 10 * self.pictures + 1), self.pictures))
        category_ids = sorted(pick.sample(range(1, 3 * self.categories + 1), self.categories))
        with_objects = category_ids[: max(1, self.categories - 2)]  # the others have detections only, or nothing
        with_detections = category_ids[: max(1, self.categories - 1)]
        for image in ids:
            height, width = pick.randint(*self.side), pick.randint(*self.side)
            images.append({"id": image, "height": height, "width": width, "file_name": f"{image:06d}.jpg"})
            kind = pick.random()
            found = []
            for _ in range(0 if kind < 0.1 else pick.randint(1, self.objects)):
                category = pick.choice(with_objects)
                one = {"id": len(annotations) + 1, "image_id": image, "category_id": category, "iscrowd": 0}
                polygon = self.polygon(height, width)
                if pick.random() < 0.08:
                    one["segmentation"], one["bbox"] = self.runs(height, width)
                    one["iscrowd"] = 1
                    one["area"] = sum(one["segmentation"]["counts"][1::2])
                else:
                    one["segmentation"] = [polygon] + ([self.polygon(height, width)] if pick.random() < 0.15 else [])
                    one["bbox"] = self.box([v for p in one["segmentation"] for v in p])
                    one["area"] = sum(self.area(p) for p in one["segmentation"])
                annotations.append(one)
                found.append((category, polygon))
            if kind > 0.95:
                continue  # nothing is detected
            for _ in range(round(self.detections * len(found)) + pick.randint(0, 2)):
                if found and pick.random() < 0.75:
                    category, polygon = pick.choice(found)
                    if pick.random() < 0.8:
                        polygon = self.moved(polygon, pick.choice((0.3, 1, 3, 8)), height, width)
                    if pick.random() < 0.1:
                        category = pick.choice(with_detections)
                else:
                    category, polygon = pick.choice(with_detections), self.polygon(height, width)
                results.append({"image_id": image, "category_id": category, "bbox": self.box(polygon),
                                "segmentation": [polygon], "score": round(self.step * pick.randint(1, round(1 / self.step)), 4)})
        if results:  # more of one class in one picture than count
            one = pick.choice(results)
            results += [dict(one, score=0.5) for _ in range(110)]
        pick.shuffle(results)
        categories = [{"id": i, "name": f"kind {i}"} for i in category_ids]
        pick.shuffle(images)
        return {"images": images, "annotations": annotations, "categories": categories}, results
